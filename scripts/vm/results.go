package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// results collects what the machine tells about its jobs.
type results struct {
	ctx      context.Context
	began    time.Time
	outcomes []*outcome
}

// outcome is what came of one job.
type outcome struct {
	job    job
	began  time.Time
	output []byte
	end    *plan.Event // nil until it has ended
	events []byte      // of tests, as test2json tells them
	tests  tests
	broken string // why the output could not be read as that of tests
}

func newResults(ctx context.Context, jobs []job) *results {
	r := &results{ctx: ctx, began: time.Now()}
	for _, j := range jobs {
		r.outcomes = append(r.outcomes, &outcome{job: j})
	}
	return r
}

// take notes an event and says what is new.
func (r *results) take(e plan.Event) {
	o := r.outcomes[e.Run]
	switch e.Kind {
	case plan.Ready:
		fmt.Printf("booted in %.1f s\n", time.Since(r.began).Seconds())
	case plan.Begin:
		o.began = time.Now()
	case plan.Output:
		o.output = append(o.output, e.Output...)
	case plan.End:
		o.end = &e
		o.read(r.ctx)
		fmt.Printf("%s (%.1f s)\n", o.line(), time.Since(o.began).Seconds())
	}
}

// read makes sense of the output.
func (o *outcome) read(ctx context.Context) {
	if o.job.pkg == "" {
		return
	}
	var err error
	if o.events, err = convert(ctx, o.job.pkg, o.output); err == nil {
		o.tests, err = readTests(o.events)
	}
	if err != nil {
		o.broken = err.Error()
	}
}

// write keeps the events of all tests.
func (r *results) write(file string) error {
	var all []byte
	for _, o := range r.outcomes {
		all = append(all, o.events...)
	}
	return os.WriteFile(file, all, 0o644)
}

func (o *outcome) failed() bool { return len(o.faults()) > 0 }

// faults lists all that is wrong. A job without a single test is wrong too:
// it is here to test something.
func (o *outcome) faults() (faults []string) {
	if o.end == nil {
		return []string{"it did not come to an end"}
	}
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	add(o.broken != "", "%s", o.broken)
	add(o.end.Why != "", "%s", o.end.Why)
	add(o.end.Status != 0, "exit status %d", o.end.Status)
	add(o.job.pkg != "" && len(o.tests.names("pass"))+len(o.tests.names("fail"))+len(o.tests.names("skip")) == 0, "it ran no test")
	for _, left := range o.end.Left {
		add(true, "left behind: %s", left)
	}
	return faults
}

func (o *outcome) line() string {
	verdict := "ok  "
	if o.failed() {
		verdict = "FAIL"
	}
	if o.job.pkg == "" {
		return fmt.Sprintf("%s %s", verdict, o.job.name)
	}
	return fmt.Sprintf("%s %s: %d passed, %d failed, %d skipped", verdict, o.job.name,
		len(o.tests.names("pass")), len(o.tests.names("fail")), len(o.tests.names("skip")))
}

// print says what went wrong, and what no job has tested.
func (r *results) print() (failed bool) {
	passed, failures := 0, 0
	for _, o := range r.outcomes {
		passed += len(o.tests.names("pass"))
		failures += len(o.tests.names("fail"))
		if o.failed() {
			failed = true
			o.explain()
		}
	}
	r.printSkipped()
	fmt.Printf("%d passed, %d failed\n", passed, failures)
	return failed
}

func (o *outcome) explain() {
	fmt.Printf("\n== %s failed: %s\n", o.job.name, strings.Join(o.faults(), "; "))
	// What neither passed nor failed was running when a panic or a timeout ended all.
	bad := append(o.tests.names("fail"), o.tests.names("")...)
	for _, name := range bad {
		fmt.Print(o.tests[name].output)
	}
	if len(bad) == 0 { // a script, or a fault beside the tests
		os.Stdout.Write(o.output)
	}
}

// printSkipped lists what was skipped by one user and passed by none.
func (r *results) printSkipped() {
	var passed, skipped []string
	for _, o := range r.outcomes {
		for _, name := range o.tests.names("pass") {
			passed = append(passed, o.job.pkg+" "+name)
		}
	}
	for _, o := range r.outcomes {
		for _, name := range o.tests.names("skip") {
			if !slices.Contains(passed, o.job.pkg+" "+name) {
				skipped = append(skipped, fmt.Sprintf("%s: %s: %s", o.job.name, name, o.tests[name].reason()))
			}
		}
	}
	if len(skipped) > 0 {
		fmt.Printf("SKIPPED:\n%s\n", strings.Join(skipped, "\n"))
	}
}
