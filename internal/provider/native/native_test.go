//go:build linux

package native

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/layers"
)

func TestMain(m *testing.M) {
	if os.Args[0] == InitName {
		os.Exit(Init())
	}
	os.Exit(m.Run())
}

func testProvider(t testing.TB) *Provider {
	home, err := os.MkdirTemp("", "fbtest-")
	if err != nil {
		t.Fatal(err)
	}
	store, err := layers.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(home, store, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sh(t *testing.T, i forkbox.Instance, id string, script string) (string, forkbox.Exit) {
	t.Helper()
	r, w, _ := os.Pipe()
	log, _ := os.CreateTemp(t.TempDir(), "log")
	exits := make(chan forkbox.Exit, 1)
	i.(*instance).mu.Lock()
	i.(*instance).exited = func(e string, x forkbox.Exit, o forkbox.Output) { exits <- x }
	i.(*instance).mu.Unlock()
	home, _ := os.UserHomeDir()
	err := i.Exec(context.Background(), id, forkbox.ExecSpec{Argv: []string{"sh", "-c", script}, Dir: "/", Env: os.Environ()},
		forkbox.Owner{UID: os.Getuid(), GID: os.Getgid(), Home: home}, forkbox.Stdio{Out: w, Err: dup(w)}, log, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	out, _ := io.ReadAll(r)
	return string(out), <-exits
}

func dup(f *os.File) *os.File {
	g, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	return g
}

func TestLook(t *testing.T) {
	p := testProvider(t)
	home, _ := os.UserHomeDir()
	box := forkbox.Box{ID: "abc123", Name: "brave-otter", Net: forkbox.NetNone, Owner: forkbox.Owner{UID: os.Getuid(), GID: os.Getgid(), Home: home}}
	if err := p.Prepare(context.Background(), box); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		t0 := time.Now()
		i, err := p.Start(context.Background(), box)
		if err != nil {
			log, _ := os.ReadFile(p.store.Dir(box.ID) + "/init.log")
			t.Fatal(err, string(log))
		}
		t1 := time.Now()
		out, exit := sh(t, i, "1", "true")
		t2 := time.Now()
		fmt.Println(n, "start", t1.Sub(t0), "exec", t2.Sub(t1), out, exit)
		if n == 0 {
			out, exit := sh(t, i, "2", os.Getenv("LOOK"))
			fmt.Println(out, exit)
			raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", i.(*instance).process.PID))
			for _, l := range strings.Split(string(raw), "\n") {
				if strings.HasPrefix(l, "Pss") || strings.HasPrefix(l, "Rss") {
					fmt.Println(l)
				}
			}
		}
		t3 := time.Now()
		if err := i.Stop(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
		fmt.Println("stop", time.Since(t3))
	}
	t3 := time.Now()
	if err := p.Remove(context.Background(), box); err != nil {
		t.Fatal(err)
	}
	fmt.Println("rm", time.Since(t3))
	os.RemoveAll(p.home)
}
