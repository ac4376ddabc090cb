package main

import (
	"context"
	"fmt"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

const (
	readFiles  = 2000
	stackDepth = 50
	firstRead  = "the first time"
	againRead  = "again"
	// unmerged is the deepest stack that the daemon leaves as it is.
	unmerged = 16

	casePaused = "pause of a busy box's snapshot, 1000 small files"
	caseBusy   = "API: snapshot of that box"
)

func readCase(layers int, when string) string {
	return fmt.Sprintf("read 2000 files in a box, %d snapshots, %s", layers, when)
}

// reader is a box whose files lie in so many layers.
type reader struct {
	snapshots    int
	box          string
	first, again []time.Duration
}

// stacks measures reading through layers: through one, through as many as are
// left alone, and through as many as are merged.
func stacks(ctx context.Context, d *daemon, r *report, rounds int) error {
	var readers []*reader
	for _, n := range []int{1, unmerged, stackDepth} {
		id, err := d.stacked(ctx, n)
		if err != nil {
			return err
		}
		defer d.Remove(ctx, id, true)
		readers = append(readers, &reader{snapshots: n, box: id})
	}
	for range max(5, rounds/5) {
		for _, reader := range readers {
			if err := reader.read(ctx, d); err != nil {
				return err
			}
		}
	}
	for _, reader := range readers {
		box, err := d.Box(ctx, reader.box)
		if err != nil {
			return err
		}
		note := fmt.Sprintf("layers: %d", len(box.Layers))
		r.add(readCase(reader.snapshots, firstRead), reader.first, note)
		r.add(readCase(reader.snapshots, againRead), reader.again, note)
	}
	return nil
}

// read starts the box anew, so that nothing is looked up yet.
func (re *reader) read(ctx context.Context, d *daemon) error {
	if _, err := d.Stop(ctx, re.box, new(time.Duration)); err != nil {
		return err
	}
	if err := d.exec(ctx, re.box); err != nil {
		return err
	}
	out, err := d.inside(ctx, re.box, "read", pileDir)
	if err != nil {
		return err
	}
	var first, again int64
	if _, err := fmt.Sscan(out, &first, &again); err != nil {
		return err
	}
	re.first, re.again = append(re.first, time.Duration(first)), append(re.again, time.Duration(again))
	return nil
}

// stacked makes a box of so many snapshots, each of which has rewritten a part
// of the files, and waits until the daemon has merged what it merges.
func (d *daemon) stacked(ctx context.Context, snapshots int) (string, error) {
	id, err := d.written(ctx, readFiles)
	if err != nil {
		return "", err
	}
	const rewrite = `cd "$3" && for i in $(seq $1 $2); do echo $i > $((i / 1000))/$i; done`
	for n := range snapshots {
		if n > 0 {
			from := readFiles * n / snapshots
			argv := []string{"sh", "-c", rewrite, "sh", fmt.Sprint(from), fmt.Sprint(from + readFiles/snapshots - 1), pileDir}
			if err := d.sh(ctx, id, "/", argv); err != nil {
				return "", err
			}
		}
		if _, err := d.Snapshot(ctx, id, forkbox.SnapshotSpec{}); err != nil {
			return "", err
		}
	}
	return id, d.merged(ctx, id)
}

// merged waits until a box's layers are few, and stay as they are.
func (d *daemon) merged(ctx context.Context, id string) error {
	last, since := 0, time.Now()
	for range 300 {
		box, err := d.Box(ctx, id)
		if err != nil {
			return err
		}
		if n := len(box.Layers); n != last {
			last, since = n, time.Now()
		}
		if last <= unmerged && time.Since(since) > time.Second {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("after half a minute %d layers are not merged", last)
}

// pauses measures how long the processes of a busy box stand still.
func pauses(ctx context.Context, d *daemon, r *report, rounds int) error {
	id, err := d.written(ctx, 1000)
	if err != nil {
		return err
	}
	defer d.Remove(ctx, id, true)
	argv, err := insideArgv([]string{"write", pileDir + "-written"})
	if err != nil {
		return err
	}
	if _, err := d.ExecDetached(ctx, id, api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: "/"}}); err != nil {
		return err
	}
	var paused []time.Duration
	whole := &measured{name: caseBusy, quiet: settle, do: func() error {
		s, err := d.Snapshot(ctx, id, forkbox.SnapshotSpec{Name: "busy"})
		if err == nil && s.Paused == 0 {
			err = fmt.Errorf("nothing was paused: the box does not write")
		}
		paused = append(paused, s.Paused)
		return err
	}, after: func() error { return d.RemoveSnapshot(ctx, id+"@busy", false) }}
	if err := interleave(max(5, rounds/10), []*measured{whole}); err != nil {
		return err
	}
	r.add(casePaused, paused, "one process writes")
	r.add(whole.name, whole.times, "")
	return nil
}
