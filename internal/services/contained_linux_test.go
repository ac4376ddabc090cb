package services

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/services/servicetest"
)

// findContainer is what a user sees of a container.
func findContainer(t *testing.T, who forkbox.Owner, name string) (s *forkbox.Service, notes string) {
	t.Helper()
	all, said, err := Find(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s forkbox.Service) bool { return s.Container != nil && s.Container.Name == name })
	if i >= 0 {
		s = &all[i]
	}
	return s, strings.Join(said, "\n")
}

// A real engine's container is a service to those who may ask the engine, and to
// nobody else.
func TestFindsContainers(t *testing.T) {
	d := servicetest.StartDocker(t)
	t.Setenv("DOCKER_HOST", "unix://"+d.Socket)
	const label = "com.docker.compose."
	d.RunPostgreSQL("shop-db-1", "pgdata", "-p", "15432:5432", "-l", label+"project=shop", "-l", label+"service=db")
	root := forkbox.Owner{}

	s, _ := findContainer(t, root, "shop-db-1")
	if s == nil {
		t.Fatal("it is not found")
	}
	if s.Name != "db" || s.Recipe != "postgresql" || !slices.Equal(s.Ports, []int{15432}) || s.PID != d.Init("shop-db-1") || s.Processes < 4 || s.UID != 70 || s.Note != "" {
		t.Errorf("%+v", s)
	}
	c := s.Container
	if c.Image != "services" || c.Project != "shop" || c.Engine != d.Socket || !slices.Equal(c.Ports, []forkbox.ContainerPort{{Host: 15432, Inner: 5432}}) {
		t.Errorf("%+v", c)
	}
	if len(c.Mounts) != 1 || c.Mounts[0].Kind != "volume" || c.Mounts[0].Name != "pgdata" || c.Mounts[0].Target != "/var/lib/postgresql/data" {
		t.Errorf("%+v", c.Mounts)
	}
	if len(s.Data) != 1 || s.Data[0].Path != c.Mounts[0].Source || s.Data[0].Bytes < 1<<20 {
		t.Errorf("data %+v", s.Data)
	}
	if !slices.Contains(Live(), s.Data[0].Path) {
		t.Errorf("it is not among %q", Live())
	}

	stranger := forkbox.Owner{UID: 4321, GID: 4321}
	if s, notes := findContainer(t, stranger, "shop-db-1"); s != nil || !strings.Contains(notes, d.Socket+": you may not connect to it") {
		t.Errorf("a user without rights sees %+v, and is told %q", s, notes)
	}
	if err := os.Chown(d.Socket, 0, 4444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(d.Socket), 0o755); err != nil {
		t.Fatal(err)
	}
	stranger.Groups = []int{4444}
	if s, notes := findContainer(t, stranger, "shop-db-1"); s == nil {
		t.Errorf("one of the socket's group does not see it: %s", notes)
	}

	start, err := StartOf(t.Context(), *s, func(env []string) []string { return env })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(start.Argv, "archive_mode=off") || start.Stop != 2 || len(start.Ready) == 0 || !slices.Contains(start.Env, "GREETING=hello") {
		t.Errorf("%+v", start)
	}
	d.Run("pause", "shop-db-1")
	if s, _ := findContainer(t, root, "shop-db-1"); s == nil || !strings.Contains(s.Note, "it is paused") {
		t.Errorf("paused it is %+v", s)
	}
	d.Run("unpause", "shop-db-1")
}

// What is added to a shell's command would not be the program's.
func TestWhoTakesOptions(t *testing.T) {
	known, err := recipes()
	if err != nil {
		t.Fatal(err)
	}
	r := named(known, "postgresql")
	for line, want := range map[string]bool{
		"docker-entrypoint.sh postgres":                true,
		"docker-entrypoint.sh -c max_connections=9":    true,
		"tini -- docker-entrypoint.sh postgres -c a=b": true,
		"/usr/lib/postgresql/15/bin/postgres -D /data": true,
		"sh -c postgres":                         false,
		"/bin/bash -lc /usr/bin/postgres":        false,
		"/opt/bitnami/entrypoint.sh /opt/run.sh": false,
		"supervisord":                            false,
	} {
		if got := takesOptions(strings.Fields(line), r); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
