package services

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/services/servicetest"
)

func find(t *testing.T, uid, port int) *forkbox.Service {
	t.Helper()
	return search(t, uid, func(s forkbox.Service) bool { return slices.Contains(s.Ports, port) })
}

func search(t *testing.T, uid int, is func(forkbox.Service) bool) *forkbox.Service {
	t.Helper()
	all, _, err := Find(t.Context(), forkbox.Owner{UID: uid})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return nil
	}
	return &all[i]
}

func listen(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func TestFindsWhatListensAndWhatItWrites(t *testing.T) {
	port := listen(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fmt.Fprint(file, strings.Repeat("x", 10_000))
	read, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()

	s := find(t, os.Getuid(), port)
	if s == nil {
		t.Fatal("this test listens and is not found")
	}
	if s.PID != os.Getpid() || s.UID != os.Getuid() || s.Recipe != generic || len(s.Command) == 0 || s.Dir == "" {
		t.Errorf("%+v", s)
	}
	at := slices.IndexFunc(s.Data, func(d forkbox.ServiceData) bool { return d.Path == file.Name() })
	if at < 0 || s.Data[at].Files != 1 || s.Data[at].Bytes < 10_000 {
		t.Errorf("data %+v", s.Data)
	}
	if slices.ContainsFunc(s.Data, func(d forkbox.ServiceData) bool { return d.Path == os.Args[0] }) {
		t.Error("what it only reads is not its data")
	}
}

func TestUsersSeeTheirOwnServices(t *testing.T) {
	port := listen(t)
	if s := find(t, os.Getuid()+1, port); s != nil {
		t.Errorf("another user sees %+v", s)
	}
	if s := find(t, 0, port); s == nil {
		t.Error("root does not see it")
	}
}

// A worker has its socket from the process that made it, and systemd holds those
// of the services that it starts.
func TestAServiceIsTheProcessThatTheOthersComeFrom(t *testing.T) {
	all := table{
		1: {pid: 1, sockets: []string{"10", "20"}},
		5: {pid: 5, parent: 1, sockets: []string{"10"}},
		6: {pid: 6, parent: 5, sockets: []string{"10"}},
		7: {pid: 7, parent: 6, sockets: []string{"10", "30"}},
		8: {pid: 8, parent: 5},
	}
	var got []string
	for _, r := range all.owners(map[string]listener{"10": {port: 80}, "20": {port: 22}, "30": {port: 90}}) {
		got = append(got, fmt.Sprint(r.pid, r.at))
	}
	if want := []string{"5 [{80 }]", "7 [{90 }]"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if n := len(all.family(5)); n != 4 {
		t.Errorf("%d in the family", n)
	}
}

func TestServicesOfOneNameAreToldApart(t *testing.T) {
	list := []forkbox.Service{{Name: "node", PID: 9, Ports: []int{3000}}, {Name: "a", PID: 4, Ports: []int{1}}, {Name: "node", PID: 8}}
	nameApart(list)
	if got := strings.Join([]string{list[0].Name, list[1].Name, list[2].Name}, " "); got != "a node-3000 node-8" {
		t.Error(got)
	}
}

func TestNamesOfPrograms(t *testing.T) {
	for arg, want := range map[string]string{
		"/usr/sbin/mariadbd":             "mariadbd",
		"nginx: master process nginx -g": "nginx",
		"redis-server 127.0.0.1:6379":    "redis-server",
		"postgres: checkpointer ":        "postgres",
	} {
		if got := nameOf(arg); got != want {
			t.Errorf("%q: %q, not %q", arg, got, want)
		}
	}
}

func TestUnitOfAProcess(t *testing.T) {
	for text, want := range map[string]string{
		"0::/system.slice/redis.service\n":                                              "redis.service",
		"12:cpu:/x\n1:name=systemd:/system.slice/system-pg.slice/pg@15.service\n0::/\n": "pg@15.service",
		"0::/user.slice/user-1.slice/user@1.service/app.slice/dev.service\n":            "dev.service",
		"0::/user.slice/user-1.slice/user@1.service/app.slice\n":                        "",
		"": "",
	} {
		if got := unitOf(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestRecipesAreReadable(t *testing.T) {
	all, err := recipes()
	if err != nil || len(all) < 5 {
		t.Fatal(len(all), err)
	}
	if _, err := parse([]byte("name: x\nprograms: [x]\nfoo: 1\n")); err == nil {
		t.Error("an unknown key is taken")
	}
	if _, err := parse([]byte("name: x\n")); err == nil {
		t.Error("a recipe without programs is taken")
	}
}

// A real PostgreSQL, with its log behind a link.
func TestFindsPostgreSQL(t *testing.T) {
	dir, data, wal := servicetest.PostgreSQL(t)
	s := search(t, 0, func(s forkbox.Service) bool { return slices.Contains(s.Sockets, dir+"/.s.PGSQL.5432") })
	if s == nil {
		t.Fatal("it is not found")
	}
	if s.Recipe != "postgresql" || s.Processes < 4 || s.Note != "" {
		t.Errorf("%+v", s)
	}
	if len(s.Data) != 2 || s.Data[0].Path != data || s.Data[1].Path != wal || s.Data[0].Bytes < 1<<20 || s.Data[1].Bytes < 16<<20 {
		t.Errorf("data %+v", s.Data)
	}
	if live := Live(); !slices.Contains(live, data) || !slices.Contains(live, wal) {
		t.Errorf("it is not among %q", live)
	}
}
