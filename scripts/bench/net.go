package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
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

	// netLimit is when what is left is given up: nothing hangs for ever.
	netLimit = 5 * time.Minute

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
	limited, cancel := context.WithTimeout(ctx, netLimit)
	defer cancel()
	err := besideOthers(limited, d.binary, r, rounds)
	if err == nil {
		err = gateBeside(limited, d, r, rounds)
	}
	if limited.Err() != nil && ctx.Err() == nil {
		r.missing("the rest of the network cases", fmt.Errorf("not done after %v", netLimit))
		return nil
	}
	return err
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
