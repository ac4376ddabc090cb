//go:build linux

package main

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// TestNetAllowLive: a rule that is added counts at once, one that is taken away
// ends what it had allowed, and what others allow goes on.
func TestNetAllowLive(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host, other := w.name("host"), w.name("other")
	box := w.makeBox("live", "--allow", other+":7")
	kept := w.holds(box, other+":7", 1)
	if got := kept.line(); got != "open 1 <nil>" {
		t.Fatalf("it says %s", got)
	}
	w.failsIn(box, w.inside("dial", "tcp", host+":7")...)
	w.must("net", "allow", box, host+":7")
	cut := w.holds(box, host+":7", 1)
	if got := cut.line(); got != "open 1 <nil>" {
		t.Fatalf("after it was allowed: %s", got)
	}
	w.must("net", "rm", box, host+":7")
	cut.goOn()
	if got := cut.line(); got != "ok alive 0" {
		t.Errorf("what is no longer allowed goes on: %s", got)
	}
	w.failsIn(box, w.inside("dial", "tcp", host+":7")...)
	w.must("net", "deny", box, other+":80")
	w.failsIn(box, w.inside("dial", "tcp", other+":80")...)
	w.recorded(box, want{state: forkbox.ConnRefused, host: other, port: 80, rule: "deny " + other + ":80"})
	kept.goOn()
	if got := kept.line(); got != "ok alive 1" {
		t.Errorf("what is allowed did not go on: %s", got)
	}
	for _, bad := range []string{"a b c", "evil\nallow *", "{{.}}", "0177.0.0.1", "$(id)", "*:99999"} {
		w.refused(nil, "net", "allow", box, bad)
	}
	w.failsIn(box, w.inside("dial", "tcp", w.Canary4+":80")...)
	w.silent(w.Canary4)
}

// TestNetRulesSurvive: rules that were added to a live box hold after a restart
// of the box and of the daemon, and for what is forked from it.
func TestNetRulesSurvive(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	box := w.makeBox("live")
	w.must("net", "allow", box, host+":80")
	w.restart()
	w.must("stop", box)
	w.works(box, w.inside("dial", "tcp", host+":80")...)
	w.must("fork", box, "child")
	w.works("child", w.inside("dial", "tcp", host+":80")...)
	w.failsIn("child", w.inside("dial", "tcp", host+":443")...)
}
