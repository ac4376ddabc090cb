//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/freezer"
	"github.com/forkbox/forkbox/internal/services/servicetest"
)

// containerWorld has an engine of its own, whose containers are a shop: a database,
// and a web server that shows a directory of the machine and comes after it.
type containerWorld struct {
	*limitWorld
	docker *servicetest.Docker
	volume string // of the database
}

func newContainerWorld(t *testing.T) *containerWorld {
	t.Helper()
	docker := servicetest.StartDocker(t)
	w := &containerWorld{&limitWorld{served: served{world: makeWorld(t, "", "reality")}}, docker, ""}
	t.Cleanup(w.end)
	w.configure(calm)
	w.env = append(w.env, "DOCKER_HOST=unix://"+docker.Socket)
	w.start = func(_ *testing.T, daemon *exec.Cmd) error {
		daemon.Args = docker.Inside(append([]string{daemon.Path}, daemon.Args[1:]...)...)
		daemon.Path = "/usr/bin/nsenter"
		return daemon.Start()
	}
	docker.RunPostgreSQL("shop-db-1", "pgdata", append(label("db"), "-p", "15432:5432")...)
	w.ok(os.WriteFile(filepath.Join(w.root, "page"), []byte("of the machine"), 0o644))
	docker.Run(slices.Concat([]string{"run", "-d", "--name", "shop-web-1", "-u", "0", "-v", w.root + ":/www", "-w", "/www", "-l", "com.docker.compose.depends_on=db:service_started:false",
		"-p", "18080:8080", "-e", "API_TOKEN=secret-of-the-test"}, label("web"), []string{"services", "httpd", "-f", "-p", "8080", "-h", "/www"})...)
	w.serve()
	w.sql("create table counts as select generate_series(1, 1000) n")
	w.volume = docker.Run("volume", "inspect", "-f", "{{.Mountpoint}}", "pgdata")
	return w
}

func label(service string) []string {
	return []string{"-l", "com.docker.compose.project=shop", "-l", "com.docker.compose.service=" + service}
}

func (w *containerWorld) query(host, port, query string) []string {
	return []string{"psql", "-X", "-q", "-A", "-t", "-h", host, "-p", port, "-U", "postgres", "-c", query}
}

// sql asks the container.
func (w *containerWorld) sql(query string) string {
	w.Helper()
	argv := w.docker.Inside(w.query("127.0.0.1", "15432", query)...)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		w.Fatalf("%s: %v\n%s", query, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ask asks the copy in a box, on the port that the machine has.
func (w *containerWorld) ask(box, query string) string {
	w.Helper()
	return strings.TrimSpace(w.must(append([]string{"exec", box, "--"}, w.query("127.0.0.1", "15432", query)...)...))
}

func (w *containerWorld) sh(box, script string) string {
	w.Helper()
	return strings.TrimSpace(w.must("exec", box, "--", "sh", "-c", script))
}

// goOn fails if a process of a container stands still.
func (w *containerWorld) goOn(container string) {
	w.Helper()
	for _, pid := range freezer.FamilyOf(w.docker.Init(container)) {
		w.until("process "+fmt.Sprint(pid)+" goes on", func() bool { return freezer.State(pid) != 'T' })
	}
}

// TestContainersComeAlong: boxes have copies of a project's containers, on the
// machine's ports and by the names that they call each other, and what is done to
// them stays there.
func TestContainersComeAlong(t *testing.T) {
	t.Parallel()
	w := newContainerWorld(t)
	var list api.ServiceList
	w.ok(json.Unmarshal([]byte(w.must("services", "--json")), &list))
	i := slices.IndexFunc(list.Services, func(s forkbox.Service) bool { return s.Name == "db" })
	if i < 0 || list.Services[i].Way == "" || list.Services[i].Pause == 0 {
		t.Fatalf("%+v", list)
	}
	if slices.ContainsFunc(list.Services, func(s forkbox.Service) bool { return strings.Contains(s.Name, "proxy") }) {
		t.Errorf("who listens for a container is listed beside it: %+v", list)
	}
	if got := w.must("services"); !strings.Contains(got, "15432->5432") || !strings.Contains(got, "pgdata:/var/lib/postgresql/data (") {
		t.Errorf("it is shown as\n%s", got)
	}

	w.must("new", "--name", "one", "--with", "shop", "--pause", "1m")
	w.must("new", "--name", "two", "--with", "db", "--pause", "1m")
	w.goOn("shop-db-1")
	if got := w.docker.Run("inspect", "-f", "{{.State.Status}}", "shop-db-1"); got != "running" {
		t.Errorf("the container is %s", got)
	}
	if got := w.ask("one", "delete from counts where n > 10; select count(*) from counts"); got != "10" {
		t.Errorf("one has %s", got)
	}
	if got := w.ask("two", "select count(*) from counts"); got != "1000" {
		t.Errorf("two has %s", got)
	}
	if got := w.sql("select count(*) from counts"); got != "1000" {
		t.Errorf("the machine has %s", got)
	}
	if got := w.ask("one", "show archive_mode"); got != "off" {
		t.Errorf("the copy archives: %s", got)
	}
	if got := strings.TrimSpace(w.must(append([]string{"exec", "one", "--"}, w.query("db", "5432", "select 1")...)...)); got != "1" {
		t.Errorf("by its name and its own port it answers %q", got)
	}

	// The web server sees the directory as the box has it.
	page := `curl -s http://127.0.0.1:18080/page && curl -s http://web:8080/page`
	if got := w.sh("one", page); got != "of the machineof the machine" {
		t.Errorf("its page is %q", got)
	}
	if got := w.sh("one", "echo of the box >page; "+page); got != "of the box\nof the box" {
		t.Errorf("its page is %q", got)
	}
	environ := `for p in $(pgrep -x httpd; pgrep -x postgres); do tr '\0' '\n' </proc/$p/environ; done`
	if got := w.sh("one", environ); !strings.Contains(got, "GREETING=hello") || strings.Contains(got, "secret-of-the-test") || strings.Contains(got, "s3cret") {
		t.Errorf("their environment is\n%s", got)
	}

	// Nothing of it is a change, and nothing lands.
	if got := strings.Fields(w.must("diff", "--all", "--name-only", "one")); !slices.Equal(got, []string{"page"}) {
		t.Errorf("it changed %q", got)
	}
	before := servicetest.Sum(t, w.volume)
	w.must("stop", "one")
	w.must("apply", "--all", "--yes", "one")
	if servicetest.Sum(t, w.volume) != before {
		t.Error("the apply changed the container's volume")
	}
	w.restart()
	if got := w.ask("one", "select count(*) from counts"); got != "10" {
		t.Errorf("woken it has %s", got)
	}
}

// TestContainersAreRefused: what cannot be copied is, with the reason, and so is
// what the caller has no right to.
func TestContainersAreRefused(t *testing.T) {
	t.Parallel()
	w := newContainerWorld(t)
	refused := func(name string, words ...string) {
		t.Helper()
		_, said, code := w.cli("new", "--name", "none", "--with", name, "--pause", "1m")
		if code != 125 {
			t.Errorf("%s is copied", name)
		}
		for _, word := range words {
			if !strings.Contains(said, word) {
				t.Errorf("%s: %q is not in\n%s", name, word, said)
			}
		}
	}
	// A shell that starts a database is not told what its copy must not do.
	w.docker.Run("run", "-d", "--name", "shell", "-p", "15433:5433", "-e", "POSTGRES_PASSWORD=x", "--entrypoint", "/bin/sh", "services", "-c", "/bin/entry postgres -p 5433; true")
	w.until("it runs", func() bool {
		return w.docker.Run("top", "shell") != "" && strings.Contains(w.docker.Run("top", "shell"), "checkpointer")
	})
	refused("shell", "what a copy must not do", "name the program")
	w.docker.Run("run", "-d", "--name", "same", "-u", "0", "-p", "18081:8080", "services", "httpd", "-f", "-p", "8080", "-h", "/tmp")
	_, said, code := w.cli("new", "--with", "same", "--with", "web")
	if code != 125 || !strings.Contains(said, "both listen on port 8080") {
		t.Errorf("two on one port: %d\n%s", code, said)
	}
	w.docker.Run("run", "-d", "--name", "whole", "-u", "0", "-v", "/:/host", "-p", "18082:8082", "services", "httpd", "-f", "-p", "8082", "-h", "/tmp")
	refused("whole", "the whole machine")
	w.docker.Run("run", "-d", "--name", "device", "-u", "0", "--device", "/dev/null:/dev/mine", "-p", "18083:8083", "services", "httpd", "-f", "-p", "8083", "-h", "/tmp")
	refused("device", "needs devices")
	w.docker.Run("pause", "shop-web-1")
	refused("web", "it is paused", "docker unpause")
	w.docker.Run("unpause", "shop-web-1")
	refused("1", "no service")

	// The daemon could ask the engine; who calls it could not.
	out, said, code := w.theirs("services")
	if code != 0 || strings.Contains(out+said, "shop") || strings.Contains(out+said, "pgdata") || !strings.Contains(said, "you may not connect to it") {
		t.Errorf("a user without rights is told: %d\n%s%s", code, out, said)
	}
	w.ok(os.Chmod(w.docker.Socket, 0o666))
	w.ok(os.Chmod(filepath.Dir(w.docker.Socket), 0o711))
	if out, said, code = w.theirs("services"); code != 0 || !strings.Contains(out, "shop-db-1") {
		t.Errorf("a user with the right is told: %d\n%s%s", code, out, said)
	}
	if out, said, code = w.theirs("new", "--with", "db"); code != 125 || !strings.Contains(said, "takes a box of root's") || !strings.Contains(said, "sudo forkbox new --with db") {
		t.Errorf("a user's copy: %d\n%s%s", code, out, said)
	}

	// A daemon that knows of no engine sees who listens for its containers.
	w.env = append(w.env, "DOCKER_HOST=")
	w.restart()
	if out, said, code := w.cli("services"); code != 0 || !strings.Contains(out, "15432") || !strings.Contains(said, "a container's; no engine answers") {
		t.Errorf("without an engine it shows: %d\n%s%s", code, out, said)
	}
	refused("15432", "its engine does not answer")
}

// TestContainerDataIsNotShown: a box without the copy does not see a database's
// volume, and nothing that a box does to one lands in it.
func TestContainerDataIsNotShown(t *testing.T) {
	t.Parallel()
	w := newContainerWorld(t)
	w.must("new", "--name", "plain")
	if got := w.sh("plain", "ls -A "+w.volume); got != "FORKBOX-README" {
		t.Errorf("it sees %q", got)
	}
	w.must("new", "--name", "curious", "--allow-secrets", w.volume)
	w.sh("curious", "echo box >"+w.volume+"/pg_hba.conf; echo box >"+w.volume+"/new")
	_, said, code := w.cli("apply", "--all", "--yes", "curious")
	if code == 0 || !strings.Contains(said, "held by postgres") {
		t.Errorf("the apply: %d\n%s", code, said)
	}
	text, err := os.ReadFile(filepath.Join(w.volume, "pg_hba.conf"))
	if err != nil || strings.Contains(string(text), "box") {
		t.Errorf("it landed: %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(w.volume, "new")); err == nil {
		t.Error("a new file landed")
	}
}

// TestContainersSurviveKills: wherever the daemon dies while a container is copied,
// the container goes on, and nothing half-made is used.
func TestContainersSurviveKills(t *testing.T) {
	t.Parallel()
	w := newContainerWorld(t)
	for i := range 4 {
		asks := w.command("new", "--with", "15432", "--pause", "1m")
		w.ok(asks.Start())
		time.Sleep(time.Duration(i*150) * time.Millisecond) // somewhere on the way
		// Who asks would start another daemon, in another network.
		w.ok(asks.Process.Signal(syscall.SIGSTOP))
		w.kill()
		w.ok(asks.Process.Kill())
		_ = asks.Wait()
		w.goOn("shop-db-1")
		w.serve()
		boxes, err := w.Boxes(t.Context())
		w.ok(err)
		for _, b := range boxes {
			if strings.HasPrefix(b.Name, "settles-") {
				t.Errorf("box %s is left", b.Name)
			}
			w.ok(w.Remove(t.Context(), b.ID, true))
		}
	}
	w.must("new", "--name", "one", "--with", "db", "--pause", "1m")
	if got := w.ask("one", "select count(*) from counts"); got != "1000" {
		t.Errorf("one has %s", got)
	}
}
