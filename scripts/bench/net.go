package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// What is done on each way.
const (
	netTouch = "connect + echo of a byte + close"
	netSend  = "one stream to the server"
	netFetch = "one stream from the server"
	netHold  = "relay's memory for 1000 open connections"
)

const (
	caseFirstNone   = "API: create + first exec, --net none"
	caseFirstPolicy = "API: create + first exec, --net policy"
	caseColdNone    = "API: create + first exec, --net none, no spare ready"
	caseColdPolicy  = "API: create + first exec, --net policy, no spare ready"
)

const (
	netStream  = 128 << 20 // bytes of one stream
	netTouches = 20        // connections per round
	netHeld    = 1000

	// netPatience is how long one way may do the same thing. Who is very slow
	// gets fewer rounds, so that the others get theirs.
	netPatience = 15 * time.Second

	gateCost    = 2   // most milliseconds that a gate may add to create + first exec
	gateLatency = 1.5 // most that it may add to a connection, in what pasta adds
)

func netCase(what, way string) string { return what + ", " + way }

// network measures the gate beside what others put there, all in the same
// rounds, and what it costs to have one.
func network(ctx context.Context, d *daemon, r *report, rounds int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // nothing hangs for ever
	defer cancel()
	if err := besideOthers(ctx, d.binary, r, rounds); err != nil {
		return err
	}
	return gateBeside(ctx, d, r, rounds)
}

func besideOthers(ctx context.Context, binary string, r *report, rounds int) error {
	w, err := newNetWorld(ctx)
	if err != nil {
		r.missing(netCase(netTouch, wayVeth), err)
		return nil
	}
	defer w.close()
	ways, closeAll := w.ways(ctx, r, binary)
	defer closeAll()
	traffic(ways, 1, 8<<20) // warm up
	for _, way := range ways {
		clear(way.times)
	}
	traffic(ways, max(3, rounds/10), netStream)
	r.addTraffic(ways)
	for _, way := range ways {
		if err := way.held(r); err != nil {
			r.missing(netCase(netHold, way.name), err)
		}
	}
	return ctx.Err()
}

// traffic has every way do everything once per round. Who begins changes: what
// one round leaves behind is not always paid by the same.
func traffic(ways []*way, rounds int, bytes int64) {
	for round := range rounds {
		for n := range ways {
			way := ways[(n+round)%len(ways)]
			for _, step := range []struct {
				what, verb string
				n          int64
			}{{netTouch, "touch", netTouches}, {netSend, "send", bytes}, {netFetch, "fetch", bytes}} {
				time.Sleep(settle)
				way.measure(step.what, step.verb, step.n)
			}
		}
	}
}

func (r *report) addTraffic(ways []*way) {
	for _, what := range []string{netTouch, netSend, netFetch} {
		for _, way := range ways {
			name := netCase(what, way.name)
			switch {
			case way.broke[what] != nil:
				r.missing(name, way.broke[what])
			case what == netTouch:
				r.add(name, way.times[what], "")
			default:
				r.addRate(name, way.times[what], netStream)
			}
		}
	}
}

// measure does one step, unless the way cannot, or cannot in time: the others
// go on.
func (w *way) measure(what, verb string, n int64) {
	var took time.Duration
	for _, t := range w.times[what] {
		took += t
	}
	if w.broke[what] != nil || took > netPatience {
		return
	}
	times, err := w.agent.ask(verb, n)
	w.times[what] = append(w.times[what], times...)
	if err != nil {
		w.broke[what] = err
	}
}

// addRate adds what so many bytes in those times are in Gbit/s. The column of
// the slow end is the slow end here, too.
func (r *report) addRate(name string, times []time.Duration, bytes int64) {
	rate := func(ms float64) float64 { return float64(bytes) * 8 / 1e6 / ms }
	r.Rows = append(r.Rows, row{Name: name, Count: len(times), Unit: "Gbit/s",
		Median: rate(quantile(times, 0.5)), P95: rate(quantile(times, 0.95))})
}

// held compares what the relaying process takes before and while connections
// are open that are not used.
func (w *way) held(r *report) error {
	if w.pid == 0 || w.broke[netTouch] != nil {
		return nil
	}
	before, err := resting(w.pid)
	if err != nil {
		return err
	}
	if _, err := w.agent.ask("hold", netHeld); err != nil {
		return err
	}
	during, err := resting(w.pid)
	if err != nil {
		return err
	}
	r.Rows = append(r.Rows, row{Name: netCase(netHold, w.name), Count: 1, Unit: "MiB", Median: during - before, P95: during - before,
		Note: "PSS, without the kernel's sockets"})
	_, err = w.agent.ask("hold", 0)
	return err
}

// resting is the PSS of a process when it has stopped changing much: what a
// burst left to be collected does not count.
func resting(pid int) (float64, error) {
	var seen []float64
	for range 5 {
		time.Sleep(300 * time.Millisecond)
		pss, err := pssOf(strconv.Itoa(pid))
		if err != nil {
			return 0, err
		}
		seen = append(seen, pss)
	}
	slices.Sort(seen)
	return seen[0], nil
}

// gateBeside measures what a box with a gate costs over one without. Each kind
// has a daemon of its own: one alone keeps a spare ready for one kind only, and
// the other kind would never find any.
func gateBeside(ctx context.Context, d *daemon, r *report, rounds int) error {
	if box, err := d.Create(ctx, netBox(forkbox.NetPolicy)); err != nil {
		r.missing(caseFirstPolicy, err)
		return nil
	} else if err := d.Remove(ctx, box.ID, true); err != nil {
		return err
	}
	other, err := startDaemon(ctx, d.binary)
	if err != nil {
		return err
	}
	defer other.stop()
	none, policy := other.netCase(ctx, caseFirstNone, forkbox.NetNone), d.netCase(ctx, caseFirstPolicy, forkbox.NetPolicy)
	if err := interleave(3, []*measured{none, policy}); err != nil { // warm up
		return err
	}
	none.times, none.quiet, policy.times, policy.quiet = nil, settle, nil, settle
	if err := add(r, rounds, []*measured{none, policy}); err != nil {
		return err
	}
	// As in the short cases: what the spares hide. Each daemon rests for both.
	none = &measured{name: caseColdNone, quiet: 3 * time.Second / 2, do: none.do, after: none.after}
	policy = &measured{name: caseColdPolicy, quiet: 3 * time.Second / 2, do: policy.do, after: policy.after}
	return add(r, 7, []*measured{none, policy})
}

func netBox(net forkbox.Net) client.CreateRequest {
	return client.CreateRequest{Dir: "/", Env: os.Environ(), Net: string(net)}
}

func (d *daemon) netCase(ctx context.Context, name string, net forkbox.Net) *measured {
	var last string
	return &measured{
		name: name,
		do: func() (err error) {
			last, err = d.firstOf(ctx, netBox(net))
			return err
		},
		after: func() error { return d.Remove(ctx, last, true) },
	}
}

// judgeNetwork compares with what the project wants.
func (r *report) judgeNetwork() {
	for _, what := range []string{netSend, netFetch} {
		r.want(what+", slirp4netns / forkbox", 1, r.median(netCase(what, waySlirp))/r.median(netCase(what, wayGate)), "×")
	}
	added := func(name string) float64 {
		return r.median(netCase(netTouch, name)) - r.median(netCase(netTouch, wayVeth))
	}
	if r.median(netCase(netTouch, wayGate)) > 0 && r.median(netCase(netTouch, wayPasta)) > 0 {
		r.want("added to a connection, forkbox / pasta", gateLatency, added(wayGate)/added(wayPasta), "×")
	}
	for _, c := range []struct{ name, policy, none string }{
		{"create + first exec, policy over none", caseFirstPolicy, caseFirstNone},
		{"the same, no spare ready", caseColdPolicy, caseColdNone},
	} {
		if r.median(c.policy) > 0 {
			r.want(c.name, gateCost, r.median(c.policy)-r.median(c.none), "ms")
		}
	}
}
