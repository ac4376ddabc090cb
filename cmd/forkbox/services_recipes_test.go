//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/services/servicetest"
)

// recipeWorld has a directory that the servers of a test may write to.
type recipeWorld struct{ *serviceWorld }

func newRecipeWorld(t *testing.T) *recipeWorld {
	t.Helper()
	dir := filepath.Join(servicesDir(t), "s")
	good(t, os.Chmod(filepath.Dir(dir), 0o755))
	servicetest.MakeDir(t, dir)
	return &recipeWorld{&serviceWorld{limitWorld: newLimitWorld(t, calm), dir: dir}}
}

// in runs a command in a box, and gives what it says.
func (w *recipeWorld) in(box string, argv ...string) string {
	w.Helper()
	return strings.TrimSpace(w.must(append([]string{"exec", box, "--"}, argv...)...))
}

// get asks a web server in a box for its page.
func (w *recipeWorld) get(box string, s *servicetest.Server) string {
	w.Helper()
	return w.in(box, "curl", "-s", "-S", "http://127.0.0.1:"+s.Port+"/")
}

// TestServicesWithoutData: web servers, development servers and a cache come up in
// a box on their ports, and begin anew.
func TestServicesWithoutData(t *testing.T) {
	t.Parallel()
	w := newRecipeWorld(t)
	one, two := filepath.Join(w.dir, "one"), filepath.Join(w.dir, "two")
	servicetest.MakeDir(t, one)
	servicetest.MakeDir(t, two)
	front := servicetest.Nginx(t, one, "the front", false)
	alone := servicetest.Nginx(t, two, "alone", true)
	cache, node, python := servicetest.Memcached(t, w.dir), servicetest.Node(t, w.dir), servicetest.Python(t, w.dir, "files")
	all := []*servicetest.Server{front, alone, cache, node, python}
	var ports []string
	for _, s := range all {
		ports = append(ports, s.Port)
	}
	for range 3 {
		node.Get()
	}
	w.must("new", "--name", "web", "--with", strings.Join(ports, ","))
	list := w.services("web")
	if len(list) != len(all) {
		t.Errorf("it has %d services", len(list))
	}
	for _, s := range list {
		if s.State != "ready" || s.Still != "" || len(s.Ports) != 1 {
			t.Errorf("%+v", s)
		}
	}
	for _, c := range []struct {
		server *servicetest.Server
		want   string
	}{{front, "the front"}, {alone, "alone"}, {node, "node 1"}, {python, "files"}} {
		if got := w.get("web", c.server); got != c.want {
			t.Errorf("%s answers %q", c.want, got)
		}
	}
	if got := w.in("web", "sh", "-c", `printf 'version\r\nquit\r\n' | nc.openbsd 127.0.0.1 `+cache.Port); !strings.HasPrefix(got, "VERSION") {
		t.Errorf("the cache answers %q", got)
	}
	// Each serves what its box has.
	w.in("web", "sh", "-c", "echo changed >"+python.Dir+"/index.html")
	if got := w.get("web", python); got != "changed" {
		t.Errorf("it serves %q", got)
	}
	if got := python.Get() + " " + node.Get(); got != "files node 4" {
		t.Errorf("the machine's own answer %q", got)
	}
}

// TestServicesTwoClusters: two PostgreSQL clusters, one with its log and a tablespace
// elsewhere, come along at once. What one archives on the machine its copy does
// not.
func TestServicesTwoClusters(t *testing.T) {
	t.Parallel()
	w := newRecipeWorld(t)
	archive := filepath.Join(w.dir, "archive")
	servicetest.MakeDir(t, archive)
	first := servicetest.Cluster(t, w.dir, "first", true, fmt.Sprintf("archive_mode = on\narchive_command = 'echo %%f >> %s/list'", archive))
	second := servicetest.Cluster(t, w.dir, "second", false, "")
	space := filepath.Join(w.dir, "space")
	servicetest.MakeDir(t, space)
	servicetest.Run(t, first.PSQL("create tablespace apart location '"+space+"'")...)
	servicetest.Run(t, first.PSQL("create table counts tablespace apart as select generate_series(1, 1000) as n")...)
	servicetest.Run(t, second.PSQL("create table counts as select generate_series(1, 10) as n")...)
	servicetest.Run(t, first.PSQL("select pg_switch_wal()")...)
	list := filepath.Join(archive, "list")
	w.until("the machine's server archives", func() bool { return exists(list) })

	w.must("new", "--name", "both", "--with", first.Data()+","+second.Data(), "--pause", "1m")
	if got := w.in("both", first.PSQL("delete from counts where n > 7; select count(*) from counts")...); got != "7" {
		t.Errorf("the first has %s", got)
	}
	if got := w.in("both", second.PSQL("select count(*) from counts")...); got != "10" {
		t.Errorf("the second has %s", got)
	}
	if got := w.in("both", first.PSQL("show archive_mode")...); got != "off" {
		t.Errorf("its archive_mode is %s", got)
	}
	before := w.in("both", "cat", list)
	for range 3 {
		w.in("both", first.PSQL("insert into counts values (1)")...)
		w.in("both", first.PSQL("select pg_switch_wal()")...)
	}
	w.in("both", first.PSQL("checkpoint")...)
	if got := w.in("both", "cat", list); got != before {
		t.Errorf("the copy archived: there was\n%s\nand is\n%s", before, got)
	}
	w.must("stop", "both")
	if got := w.must("diff", "--all", "--name-only", "both"); strings.Contains(got, w.dir) {
		t.Errorf("the box changed\n%s", got)
	}
	if got := servicetest.Run(t, first.PSQL("select count(*) from counts")...); got != "1000" {
		t.Errorf("the machine has %s", got)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestServicesOfSQLite: the files of a database that a program has open are found,
// and what the copy writes no other has. What comes to lie beside the machine's
// later does not show.
func TestServicesOfSQLite(t *testing.T) {
	t.Parallel()
	w := newRecipeWorld(t)
	s := servicetest.SQLite(t, w.dir, "delete")
	query := func(text string) []string { return []string{"sqlite3", s.Database(), text} }
	w.must("new", "--name", "lite", "--with", s.Port, "--pause", "1m")
	if data := w.services("lite")[0].Data; len(data) != 4 {
		t.Errorf("its data is %q", data)
	}
	good(t, os.WriteFile(s.Database()+"-journal", []byte("of the machine's"), 0o600))
	if got := w.in("lite", "sh", "-c", "ls "+s.Dir); got != "bank.db" {
		t.Errorf("in the box there is %q", got)
	}
	good(t, os.Remove(s.Database()+"-journal"))
	if got := w.in("lite", query("update accounts set balance = 5 where id = 1; select sum(balance) from accounts")...); got != "5" {
		t.Errorf("the box has %s", got)
	}
	if got := servicetest.Run(t, query("select sum(balance) from accounts")...); got != "0" {
		t.Errorf("the machine has %s", got)
	}
}
