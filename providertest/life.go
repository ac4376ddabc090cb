package providertest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

var lifeStories = []story{
	{name: "WritesOutliveAStop", run: writesOutliveAStop},
	{name: "StopEndsEverything", run: func(t *testing.T, l *Lab) { stopEndsEverything(t, l, 0) }},
	{name: "StopWithGraceEndsEverything", run: func(t *testing.T, l *Lab) { stopEndsEverything(t, l, 50*time.Millisecond) }},
	{name: "StopWithGraceLetsFinish", run: stopLetsFinish},
	{name: "FailedStartLeavesTheData", run: failedStart},
	{name: "AttachToNothing", run: attachToNothing},
	{name: "RemoveLeavesNothing", run: removeLeavesNothing},
	{name: "PrepareTwice", run: prepareTwice},
	{name: "ExecAfterStop", run: execAfterStop},
	{name: "ManyAtOnce", run: manyAtOnce},
}

func writesOutliveAStop(t *testing.T, l *Lab) {
	dir := Tree(t, map[string]string{"edit": "old", "gone": "x"})
	box := l.Box()
	r := l.Start(box)
	r.Sh("cd " + dir + " && echo new >edit && rm gone && mkdir sub && echo added >sub/file && chmod 4711 sub/file")
	stop(t, r, 0)
	for range 2 {
		r = l.Start(box)
		if got := r.Sh("cd " + dir + " && cat edit sub/file && stat -c %a sub/file && test ! -e gone"); got != "new\nadded\n4711" {
			t.Errorf("after a restart: %q", got)
		}
		stop(t, r, 0)
	}
}

func stop(t *testing.T, r *Running, grace forkbox.Grace) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.Instance.Stop(ctx, grace); err != nil {
		t.Errorf("stop: %v", err)
	}
	select {
	case <-r.Instance.Done():
	case <-time.After(patience):
		t.Error("stopped, but not done")
	}
}

func stopEndsEverything(t *testing.T, l *Lab, grace forkbox.Grace) {
	r := l.Start(l.Box())
	r.begin(stubborn)
	r.begin(`trap '' TERM HUP; i=0; while [ $i -lt 50 ]; do (setsid sleep 1000 &); i=$((i+1)); done; echo ready; sleep 1000`)
	Eventually(t, "the trees have grown", func() bool { return Marked(r.Box, "") >= 56 })
	stop(t, r, grace)
	if n := Marked(r.Box, ""); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	stop(t, r, grace)
	stop(t, r, 0)
}

func stopLetsFinish(t *testing.T, l *Lab) {
	dir := Tree(t, nil)
	box := l.Box()
	r := l.Start(box)
	r.begin(`trap 'sleep 0.1; echo saved >` + dir + `/file; exit' TERM; echo ready; while :; do sleep 0.02; done`)
	stop(t, r, patience)
	if got := l.Start(box).Sh("cat " + dir + "/file"); got != "saved" {
		t.Errorf("it could not finish: %q", got)
	}
}

func failedStart(t *testing.T, l *Lab) {
	dir := Tree(t, nil)
	box := l.Box()
	r := l.Start(box)
	r.Sh("echo precious >" + dir + "/file")
	stop(t, r, 0)
	mend := l.Break(box)
	inst, err := l.Provider.Start(context.Background(), box)
	if err == nil {
		_ = inst.Stop(context.Background(), 0)
		t.Error("it started from broken storage")
	}
	if _, err := l.Provider.Attach(context.Background(), box); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("after a failed start attach says %v", err)
	}
	mend()
	if got := l.Start(box).Sh("cat " + dir + "/file"); got != "precious" {
		t.Errorf("after the repair: %q", got)
	}
}

func attachToNothing(t *testing.T, l *Lab) {
	box := l.Box()
	for _, when := range []string{"never started", "stopped"} {
		if _, err := l.Provider.Attach(context.Background(), box); err == nil || forkbox.CodeOf(err) != forkbox.NotFound {
			t.Errorf("%s: %v", when, err)
		}
		if when == "never started" {
			stop(t, l.Start(box), 0)
		}
	}
}

func removeLeavesNothing(t *testing.T, l *Lab) {
	box := l.Box()
	r := l.Start(box)
	dir := Tree(t, nil)
	r.Sh("cd " + dir + " && mkdir -p a/b/c && touch a/b/c/d && chmod 0 a/b/c a/b a && ln -s /etc link && mkfifo pipe")
	stop(t, r, 0)
	for range 2 {
		if err := l.Provider.Remove(context.Background(), box); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	for _, path := range l.Leftovers() {
		if strings.Contains(path, box.ID) {
			t.Errorf("%s is left", path)
		}
	}
	if _, err := l.Provider.Start(context.Background(), box); err == nil {
		t.Error("a removed box started")
	}
}

func prepareTwice(t *testing.T, l *Lab) {
	box := l.Box()
	if err := l.Provider.Prepare(context.Background(), box); forkbox.CodeOf(err) != forkbox.Exists || err == nil {
		t.Errorf("got %v", err)
	}
}

func execAfterStop(t *testing.T, l *Lab) {
	r := l.Start(l.Box())
	stop(t, r, 0)
	for range 100 { // what it had of the host goes meanwhile
		if _, err := r.Try(Shell("true"), nil); forkbox.CodeOf(err) != forkbox.Busy {
			t.Fatalf("a command in a stopped box: %v", err)
		}
	}
	if _, err := r.Instance.Processes(context.Background()); err == nil {
		t.Error("a stopped box has processes")
	}
}

// manyAtOnce: whole lives, at the same time. An end must not hit another box.
func manyAtOnce(t *testing.T, l *Lab) {
	var group sync.WaitGroup
	for range 20 {
		box := l.Box()
		group.Go(func() {
			for range 3 {
				inst, err := l.Provider.Start(context.Background(), box)
				if err != nil {
					t.Errorf("start: %v", err)
					return
				}
				r := l.watch(box, inst)
				if res, err := r.Try(Shell("echo x"), nil); err != nil || res.Stdout != "x\n" {
					t.Errorf("exec: %q, %v", res.Stdout, err)
				}
				stop(t, r, 0)
			}
		})
	}
	group.Wait()
}
