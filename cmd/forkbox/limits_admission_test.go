//go:build linux

package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// waits is a wish that waits for its place so long.
func waits(d time.Duration, priority forkbox.Priority, ticket string) forkbox.Wish {
	ns := int64(d)
	return forkbox.Wish{Wait: &ns, Priority: priority, Ticket: ticket}
}

// occupied is a world in which two boxes run, which is all there is room for.
func occupied(t *testing.T) (w *limitWorld, boxes [2]string) {
	w = newLimitWorld(t, "admission: {running: 2, wait: 100ms, pressure: {memory: 100, io: 100}}\n")
	for i := range boxes {
		boxes[i] = w.create(fmt.Sprint("runs-", i), "").ID
		w.begin(boxes[i], "", "wait-for-ever").hears("here")
	}
	return w, boxes
}

// TestAdmission has a third box wait where two may run: its place is
// shown, it is refused with the figure when its time is up, and goes on when
// there is room.
func TestAdmission(t *testing.T) {
	t.Parallel()
	w, boxes := occupied(t)
	third := w.create("third", "").ID
	for _, wish := range []forkbox.Wish{waits(0, "", ""), waits(50*time.Millisecond, "", ""), {}} {
		_, err := w.tryBegin(third, wish, "true")
		w.fails(err, forkbox.Busy, "2 boxes run")
	}
	w.refused([]string{"2 boxes run"}, "exec", "--wait", "0", "third", "--", "true")
	w.refused([]string{"2 boxes run"}, "run", "--discard", "--wait", "10ms", "--", "true")

	begun := make(chan *task, 1)
	go func() {
		task, err := w.tryBegin(third, waits(time.Minute, "", "mine"), "true")
		if err != nil {
			t.Errorf("it waited, and then: %v", err)
		}
		begun <- task
	}()
	place := w.placeOf("mine")
	if place.Place != 1 || !strings.Contains(place.Why, "2 boxes run") || !strings.Contains(place.What, "third") {
		t.Errorf("its place is told so: %+v", place)
	}
	var queue api.Queue
	w.reads(&queue, "queue")
	if len(queue.Waiting) != 1 {
		t.Errorf("queue --json: %+v", queue)
	}
	w.must("stop", "-t", "0", boxes[0])
	if task := <-begun; task != nil {
		task.ends()
	}
}

// placeOf waits until a ticket is in the queue.
func (w *limitWorld) placeOf(ticket string) (place forkbox.Waiting) {
	w.Helper()
	w.until(ticket+" waits", func() bool {
		queue, err := w.Queue(w.Context())
		for _, p := range queue {
			if err == nil && p.Ticket == ticket {
				place = p
				return true
			}
		}
		return false
	})
	return place
}

// TestAdmissionByPriority has who came last and matters more go first.
func TestAdmissionByPriority(t *testing.T) {
	t.Parallel()
	w, boxes := occupied(t)
	order := make(chan string, 3)
	var all sync.WaitGroup
	for _, p := range []forkbox.Priority{forkbox.LowPriority, forkbox.NormalPriority, forkbox.HighPriority} {
		box := w.create(string(p), "").ID
		all.Go(func() {
			task, err := w.tryBegin(box, waits(time.Minute, p, string(p)), "true")
			if err != nil {
				t.Errorf("%s: %v", p, err)
				return
			}
			order <- string(p)
			task.ends()
			if _, err := w.Stop(t.Context(), box, new(time.Duration)); err != nil {
				t.Error(err)
			}
		})
		w.placeOf(string(p))
	}
	if place := w.placeOf("low"); place.Place != 3 {
		t.Errorf("the low one is %+v", place)
	}
	w.must("stop", "-t", "0", boxes[0])
	all.Wait()
	if got := <-order + " " + <-order + " " + <-order; got != "high normal low" {
		t.Errorf("they went in the order %s", got)
	}
}

// TestAdmissionOfMemory adds up what boxes may use, and refuses at once what can
// never be.
func TestAdmissionOfMemory(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, "admission: {memory: 512m, wait: 50ms}\n")
	w.needs(forkbox.Memory)
	first, second := w.create("first", "memory=300m").ID, w.create("second", "memory=300m").ID
	w.begin(first, "", "wait-for-ever").hears("here")
	_, err := w.tryBegin(second, forkbox.Wish{}, "true")
	w.fails(err, forkbox.Busy, "300m", "512m")
	w.must("set", "second", "--memory", "200m")
	w.does(second, "worker", "1")
	huge, err := w.tryCreate("huge", forkbox.Wish{Limits: limits(t, "memory=1g")})
	if err == nil {
		_, err = w.tryBegin(huge.ID, waits(time.Hour, "", ""), "true")
	}
	w.fails(err, forkbox.Denied, "1g", "512m")
}

// TestAdmissionQuota holds one user to a number of boxes.
func TestAdmissionQuota(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, "admission: {wait: 50ms}\nusers: {\"*\": {quota: {boxes: 2, running: 1}}}\n")
	w.create("one", "")
	w.create("two", "")
	_, err := w.tryCreate("three", forkbox.Wish{})
	w.fails(err, forkbox.Busy, "2 boxes")
	w.begin("one", "", "wait-for-ever").hears("here")
	_, err = w.tryBegin("two", forkbox.Wish{}, "true")
	w.fails(err, forkbox.Busy, "1 box runs")
	w.must("rm", "-f", "one")
	w.create("three", "")
}
