package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// What a test binary writes with -test.v=test2json.
const written = "\x16=== RUN   TestGood\n\x16--- PASS: TestGood (0.00s)\n" +
	"\x16=== RUN   TestBad\n    x_test.go:3: broken\n\x16--- FAIL: TestBad (0.00s)\n" +
	"\x16=== RUN   TestLater\n    x_test.go:9: needs a disk\n\x16--- SKIP: TestLater (0.00s)\n\x16=== NAME  \n\x16FAIL\n"

func outcomeOf(t *testing.T, pkg, output string, end plan.Event) *outcome {
	t.Helper()
	o := &outcome{job: job{pkg: pkg}, output: []byte(output), end: &end}
	o.read(t.Context())
	return o
}

func TestOutputOfTestsIsUnderstood(t *testing.T) {
	o := outcomeOf(t, "./x", written, plan.Event{Status: 1})
	for action, want := range map[string]string{"pass": "TestGood", "fail": "TestBad", "skip": "TestLater"} {
		if got := o.tests.names(action); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %s", action, got, want)
		}
	}
	if why := o.tests["TestLater"].reason(); !strings.HasSuffix(why, "needs a disk") {
		t.Errorf("skipped because of %q", why)
	}
	if !strings.Contains(o.tests["TestBad"].output, "broken") {
		t.Error("what the failed test said is lost")
	}
}

func TestWhatCountsAsAFailure(t *testing.T) {
	good, none := "\x16=== RUN   TestGood\n\x16--- PASS: TestGood (0.00s)\n\x16=== NAME  \n\x16PASS\n", "testing: warning: no tests to run\nPASS\n"
	for name, c := range map[string]struct {
		pkg, output string
		end         plan.Event
		want        string
	}{
		"passed":        {"./x", good, plan.Event{}, ""},
		"a script":      {"", "fine\n", plan.Event{}, ""},
		"no test":       {"./x", none, plan.Event{}, "it ran no test"},
		"failed":        {"./x", written, plan.Event{Status: 1}, "exit status 1"},
		"late exit":     {"./x", good, plan.Event{Status: 2}, "exit status 2"},
		"killed":        {"./x", good, plan.Event{Why: "killed"}, "killed"},
		"left a child":  {"./x", good, plan.Event{Left: []string{"process 7"}}, "left behind: process 7"},
		"script failed": {"", "", plan.Event{Status: 3}, "exit status 3"},
	} {
		if got := strings.Join(outcomeOf(t, c.pkg, c.output, c.end).faults(), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if !(&outcome{}).failed() {
		t.Error("a job that did not end passed")
	}
}

func TestModulesAreLoadedAfterWhatTheyNeed(t *testing.T) {
	index := []byte("a/virtio.ko:\na/virtio_ring.ko: a/virtio.ko\na/virtio-blk.ko: a/virtio_ring.ko a/virtio.ko\n")
	got, err := dependencies(index, "virtio_blk")
	if want := []string{"a/virtio.ko", "a/virtio_ring.ko", "a/virtio-blk.ko"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := dependencies(index, "virtio"); err != nil {
		t.Error(err)
	}
	if _, err := dependencies(index, "virtio_net"); err == nil {
		t.Error("a module that is not there was found")
	}
}
