//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// event is a line of test2json.
type event struct {
	Action, Package, Test, Output string
}

func (e event) name() string { return e.Package + " " + e.Test }

// report is what is known of all tests, as root and as the other user. The zero
// value is ready for use.
type report struct {
	mu      sync.Mutex
	actions map[string]map[string]bool // names of tests, by pass, fail and skip
	broken  bool                       // something failed that is no test's failure
	bad     map[string]bool            // jobs of which a test failed
}

// take notes an event.
func (r *report) take(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Test == "" {
		r.broken = r.broken || e.Action == "fail"
		return
	}
	if r.actions == nil {
		r.actions = map[string]map[string]bool{"pass": {}, "fail": {}, "skip": {}}
	}
	if names := r.actions[e.Action]; names != nil {
		names[e.name()] = true
	}
}

// listen takes the events of a job, and prints what failed tests said when the
// job has ended.
func (r *report) listen(j job, events io.Reader) error {
	said := map[string]*strings.Builder{} // by test
	var failed []string
	dec := json.NewDecoder(bufio.NewReader(events))
	for {
		var e event
		err := dec.Decode(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("cannot read what the tests of %v say: %w", j, err)
		}
		r.take(e)
		switch e.Action {
		case "output":
			if said[e.Test] == nil {
				said[e.Test] = &strings.Builder{}
			}
			said[e.Test].WriteString(e.Output)
		case "pass", "skip":
			if e.Test != "" {
				delete(said, e.Test)
			}
		case "fail":
			failed = append(failed, e.Test)
		}
	}
	r.printFailures(j, failed, said)
	return nil
}

// printFailures prints what failed tests said. What the package itself said is
// a crash, or nothing.
func (r *report) printFailures(j job, failed []string, said map[string]*strings.Builder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, test := range failed {
		if text := said[test]; text != nil {
			fmt.Printf("=== FAIL %v %s\n%s\n", j, test, text)
			delete(said, test)
		}
	}
	if len(failed) == 0 {
		return
	}
	if r.bad == nil {
		r.bad = map[string]bool{}
	}
	r.bad[j.String()] = true
	for test, text := range said { // what had not ended when it crashed
		if strings.Contains(text.String(), "panic:") || strings.Contains(text.String(), "fatal error:") {
			fmt.Printf("=== CRASH %v %s\n%s\n", j, test, text)
		}
	}
}

// finish says that a job has ended, and how.
func (r *report) finish(j job, took cost, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mark := "ok  "
	if err != nil || r.bad[j.String()] {
		r.broken = true
		mark = "FAIL"
	}
	fmt.Printf("%s %7.1fs %7.1fs of processors  %v\n", mark, took.wall.Seconds(), took.processor.Seconds(), j)
	if err != nil {
		fmt.Printf("      %v\n", err)
	}
}

// print prints a text that no job's words come between.
func (r *report) print(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Print(text)
}

// read takes the events of another run.
func (r *report) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for dec := json.NewDecoder(f); ; {
		var e event
		if err := dec.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("cannot read %s: %w", file, err)
		}
		r.take(e)
	}
}

func (r *report) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken || len(r.actions["fail"]) > 0
}

// skipped lists what ran as neither user: a test that is not for root runs as
// the other user, and the other way round.
func (r *report) skipped() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name := range r.actions["skip"] {
		if !r.actions["pass"][name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// count prints the line that says how it went.
func (r *report) count(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(w, "%d passed, %d failed\n", len(r.actions["pass"]), len(r.actions["fail"]))
}
