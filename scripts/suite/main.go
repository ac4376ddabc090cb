//go:build unix

// Command suite runs every test: as the user who asks and, when that is root,
// the packages that touch the kernel once more as an unprivileged user. The test
// binaries are built once for both. What was skipped is listed at the end; on CI
// a skip is a failure.
//
//	go run ./scripts/suite                all of it
//	go run ./scripts/suite -fast          what needs neither root nor much time
//	go run ./scripts/suite -only cgroup   the packages whose path has this in it
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
	flag.StringVar(&s.also, "also", "", "count what this `file` of test2json says as run: tests of another machine")
	flag.IntVar(&s.beside, "beside", runtime.NumCPU(), "how `many` packages are tested at the same time")
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
	fast, root bool
	only, also string
	beside     int
	timeout    time.Duration
	work       string // a directory for the time of the run
	report     report
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
	if s.also != "" {
		if err := s.report.read(s.also); err != nil {
			return err
		}
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
	}
	for _, p := range s.plan(packages) {
		s.runPhase(ctx, p)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if !s.root && !s.fast {
		fmt.Println("NOT RUN: the tests as root (run make test as root for those)")
	}
	return s.conclude()
}

// job is the tests of a package, as one user.
type job struct {
	pkg   pkg
	other bool // as the unprivileged user, while the suite is root's
}

func (j job) String() string {
	if j.other {
		return j.pkg.rel() + " as " + otherUser
	}
	return j.pkg.rel()
}

// phase is what may run at the same time: the jobs of one user. Root's tests
// mount, and the other user's have a mount namespace of their own, which would hold
// on to what was mounted when it was made.
type phase struct {
	// alone are the tests of the whole program, in a lane of their own: they fill
	// a machine with boxes, and look at how it does.
	alone  []job
	shared []job // what the other lanes take from, the longest first
}

func (s *suite) plan(packages []pkg) []phase {
	var own, others phase
	for _, p := range packages {
		own.add(job{pkg: p})
		if s.root && slices.Contains(kernel, p.rel()) {
			others.add(job{pkg: p, other: true})
		}
	}
	return []phase{own, others}
}

func (p *phase) add(j job) {
	if j.pkg.rel() == program {
		p.alone = append(p.alone, j)
		return
	}
	p.shared = append(p.shared, j)
	slices.SortStableFunc(p.shared, func(a, b job) int { return cmp.Compare(rank(a), rank(b)) })
}

// rank is the place of a job among the longest, or behind all of them: the suite
// takes as long as the job that ends last.
func rank(j job) int {
	if i := slices.Index(longest, j.pkg.rel()); i >= 0 {
		return i
	}
	return len(longest)
}

// runPhase runs its jobs, some at a time.
func (s *suite) runPhase(ctx context.Context, p phase) {
	queue := make(chan job)
	var lanes sync.WaitGroup
	for i := range s.beside {
		lanes.Go(func() {
			if i == 0 {
				for _, j := range p.alone {
					s.runJob(ctx, j)
				}
			}
			for j := range queue {
				s.runJob(ctx, j)
			}
		})
	}
	for _, j := range p.shared {
		queue <- j
	}
	close(queue)
	lanes.Wait()
}

// conclude says what came of it.
func (s *suite) conclude() error {
	failed := s.report.failed()
	whole := !s.fast && s.only == ""
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
