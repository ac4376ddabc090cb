//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// conns is what `net log --json` has of a box.
func (w *netWorld) conns(box string) (all connLog) {
	w.Helper()
	var doc struct{ Conns connLog }
	w.reads(&doc, "net", "log", box)
	return doc.Conns
}

// last are as many as a person reads.
func (l connLog) last() connLog { return l[max(0, len(l)-12):] }

func (l connLog) String() string {
	var b strings.Builder
	for _, c := range l {
		fmt.Fprintf(&b, "  %s\n", lineOf(c))
	}
	return b.String()
}

func lineOf(c forkbox.Conn) string {
	t := c.Target
	return fmt.Sprintf("#%d %s %s host=%q addr=%s port=%d rule=%q from=%q why=%q pid=%d command=%q in=%d out=%d times=%d",
		c.ID, c.State, t.Proto, t.Host, t.Addr, t.Port, c.Rule.Rule, c.Rule.From, c.Why, c.PID, c.Command, c.In, c.Out, c.Times)
}

// want is what a record has to say; what is empty may be anything.
type want struct {
	state       forkbox.ConnState
	proto, host string
	addr        string
	port        int
	rule        string // of the text of the rule that decided; "-": none did
	why         string // part of it
	method      string
	path        string
	in          int64 // bytes that came, at least
}

func (x want) fits(c forkbox.Conn) bool {
	t := c.Target
	return (x.state == "" || x.state == c.State) && (x.proto == "" || x.proto == t.Proto) &&
		(x.host == "" || x.host == t.Host) && (x.addr == "" || x.addr == t.Addr.String()) &&
		(x.port == 0 || x.port == t.Port) && (x.rule == "" || x.rule == c.Rule.Rule || x.rule == "-" && c.Rule.Rule == "") &&
		(x.method == "" || x.method == t.Method) && (x.path == "" || x.path == t.Path) &&
		c.In >= x.in && strings.Contains(c.Why, x.why) && (x.state != forkbox.ConnRefused || c.Why != "")
}

// recorded waits for a record: they are written in batches.
func (w *netWorld) recorded(box string, x want) (found forkbox.Conn) {
	w.Helper()
	var last connLog
	for end := time.Now().Add(worldPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		last = w.conns(box)
		for _, c := range last {
			if x.fits(c) {
				return c
			}
		}
	}
	w.Errorf("no record of %+v, but last\n%s", x, last.last())
	return found
}
