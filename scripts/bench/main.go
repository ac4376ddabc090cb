// Command bench measures forkbox beside the bare system, bubblewrap, a container
// engine, and what others relay networks with: every case once per round, so
// that all of them see the same noise. It prints medians, 95th percentiles and
// the ratio to bubblewrap.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	// Boxes see this machine's files, so this program too: it is what some
	// cases run in them.
	if len(os.Args) > 1 && os.Args[1] == insideArg {
		inside(os.Args[2:])
		return
	}
	err := error(nil)
	if len(os.Args) == 4 && os.Args[1] == servicesArg {
		err = servicesInside(os.Args[2], os.Args[3])
	} else {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

var parts = []struct {
	name    string
	measure func(context.Context, *daemon, *report, int) error
}{{"short", short}, {"engines", engines}, {"burst", burst}, {"memory", memory}, {"growth", growth}, {"changes", changes}, {"snapshots", snapshots}, {"limits", limits}, {"net", network}, {"race", raceBench}, {"services", servicesBench}}

func run() error {
	binary := flag.String("forkbox", "bin/forkbox", "the binary to measure")
	out := flag.String("json", "", "also write the results here")
	rounds := flag.Int("rounds", 100, "rounds of the short cases")
	only := flag.String("only", "", "measure only this part: short, engines, burst, memory, growth, changes, snapshots, limits, net, race or services")
	history := flag.String("history", "bench/history.jsonl", "what -record adds to and -compare reads")
	record := flag.String("record", "", "add the ratios to the history, as those of this version")
	compare := flag.Bool("compare", false, "compare the ratios with the last line of the history, and fail where one is slower by more than a tenth")
	flag.Parse()
	path, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	ctx, stop := signalled()
	defer stop() // until then what was mounted and started is cleared up also when we are interrupted
	d, err := startDaemon(ctx, path)
	if err != nil {
		return err
	}
	defer d.stop()

	r := &report{}
	for _, part := range parts {
		if *only != "" && *only != part.name {
			continue
		}
		if err := part.measure(ctx, d, r, *rounds); err != nil {
			return err
		}
	}
	r.judge()
	r.print(os.Stdout)
	if *out != "" {
		if err := r.write(*out); err != nil {
			return err
		}
	}
	return remember(r, *history, *record, *compare)
}

// signalled is done when we are to end.
func signalled() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// remember compares with the history before it adds to it.
func remember(r *report, history, version string, compare bool) error {
	if version == "" && !compare {
		return nil
	}
	now, err := newRelease(version, r)
	if err != nil {
		return err
	}
	if compare {
		last, err := lastRelease(history)
		if err != nil {
			return err
		}
		if err := compareReleases(os.Stdout, last, now); err != nil {
			return err
		}
	}
	if version == "" {
		return nil
	}
	return recordRelease(history, now)
}
