//go:build unix

// Command suite runs every test: as the user who asks and, when that is root,
// the packages that touch the kernel once more as an unprivileged user. The test
// binaries are built once for both. What was skipped is listed at the end; on CI
// a skip is a failure.
//
//	go run ./scripts/suite                all of it
//	go run ./scripts/suite -fast          what needs neither root nor much time
//	go run ./scripts/suite -only cgroup   the packages whose path has this in it
//	go run ./scripts/suite -as fbtest     only as the unprivileged user
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

func main() {
	var s suite
	flag.BoolVar(&s.fast, "fast", false, "leave out the packages that touch the kernel")
	flag.StringVar(&s.only, "only", "", "only packages whose path contains this `text`")
	flag.StringVar(&s.as, "as", "", "only as this `user`, of root and "+otherUser)
	flag.StringVar(&s.tests, "run", "", "only the tests that this `regexp` finds")
	flag.StringVar(&s.machine, "vm", "", "meanwhile have this `program` test in a machine of its own, and count what ran there as run")
	flag.IntVar(&s.beside, "beside", runtime.NumCPU()+1, "how `many` packages are tested at the same time")
	flag.DurationVar(&s.timeout, "timeout", 40*time.Minute, "for one package")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type suite struct {
	fast, root      bool
	only, as, tests string
	machine         string // the program that boots one
	beside          int
	timeout         time.Duration
	work            string // a directory for the time of the run
	room            *room  // the other user's, when the suite is root's
	report          report
}

var errFailed = errors.New("the suite failed")

func (s *suite) run(ctx context.Context) (err error) {
	s.root = os.Geteuid() == 0 && !s.fast
	if s.work, err = os.MkdirTemp("", "fbtest-suite-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.work)
	if err := os.Chmod(s.work, 0o755); err != nil { // the other user runs what lies in it
		return err
	}
	packages, err := s.packages(ctx)
	if err != nil {
		return err
	}
	if err := s.build(ctx, packages); err != nil {
		return err
	}
	if s.root {
		if err := s.furnish(ctx); err != nil {
			return err
		}
		defer s.room.end()
	}
	s.runJobs(ctx, s.plan(packages))
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if !s.root && !s.fast {
		fmt.Println("NOT RUN: the tests as root (run make test as root for those)")
	}
	return s.conclude()
}

// job is the tests of a package, as one user, or those of a machine.
type job struct {
	pkg     pkg
	other   bool   // as the unprivileged user, while the suite is root's
	machine string // instead of pkg: the program that boots it
}

func (j job) String() string {
	switch {
	case j.machine != "":
		return "a machine of its own"
	case j.other:
		return j.pkg.rel() + " as " + otherUser
	}
	return j.pkg.rel()
}

// plan lists the jobs, the longest first: the suite takes as long as the one that
// ends last.
func (s *suite) plan(packages []pkg) (jobs []job) {
	if s.machine != "" {
		jobs = append(jobs, job{machine: s.machine})
	}
	for _, p := range packages {
		if s.as != otherUser {
			jobs = append(jobs, job{pkg: p})
		}
		if s.root && s.as != "root" && slices.Contains(kernel, p.rel()) {
			jobs = append(jobs, job{pkg: p, other: true})
		}
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(rank(a), rank(b)) })
	return jobs
}

// rank is the place of a job among the longest, or behind all of them.
func rank(j job) int {
	if i := slices.Index(longest, j.pkg.rel()); i >= 0 && j.machine == "" {
		return i + 1
	} else if j.machine != "" {
		return 0
	}
	return len(longest) + 1
}

// runJobs runs some at a time. A machine has a lane of its own.
func (s *suite) runJobs(ctx context.Context, jobs []job) {
	queue := make(chan job)
	var lanes sync.WaitGroup
	for range s.beside {
		lanes.Go(func() {
			for j := range queue {
				s.runJob(ctx, j)
			}
		})
	}
	for _, j := range jobs {
		if j.machine != "" {
			lanes.Go(func() { s.runJob(ctx, j) })
			continue
		}
		queue <- j
	}
	close(queue)
	lanes.Wait()
}

// conclude says what came of it.
func (s *suite) conclude() error {
	failed := s.report.failed()
	whole := !s.fast && s.only == "" && s.as == "" && s.tests == ""
	if skipped := s.report.skipped(); len(skipped) > 0 && whole {
		fmt.Println("SKIPPED:")
		for _, name := range skipped {
			fmt.Println(name)
		}
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "on CI nothing may be skipped")
			failed = true
		}
	}
	if whole && !s.leavesNothing() {
		failed = true
	}
	s.report.count(os.Stdout)
	if failed {
		return errFailed
	}
	return nil
}

func (s *suite) path(elem ...string) string {
	return filepath.Join(append([]string{s.work}, elem...)...)
}
