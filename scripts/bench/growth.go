package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func grown(verb, where string, files int) string {
	return fmt.Sprintf("%s, %d files in the %s", verb, files, where)
}

// growth shows that the size of the machine does not matter: create and diff
// with ever more files in the base, and with ever more changes in the box.
func growth(ctx context.Context, d *daemon, r *report, rounds int) error {
	sizes := []int{10, 1000, 100000}
	dirs := map[int]string{}
	for _, n := range sizes {
		dir, err := tree(n)
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		dirs[n] = dir
	}
	if err := inBase(ctx, d, r, max(5, rounds/4), sizes, dirs); err != nil {
		return err
	}
	return inBox(ctx, d, r, sizes)
}

// inBase makes boxes in directories of different sizes that change one file.
func inBase(ctx context.Context, d *daemon, r *report, rounds int, sizes []int, dirs map[int]string) error {
	var cases []*measured
	for _, n := range sizes {
		var id string
		touch := []string{"sh", "-c", "echo changed > 0/0"}
		cases = append(cases, &measured{name: grown("create", "base", n), quiet: 2 * settle, do: func() (err error) {
			box, err := d.Create(ctx, api.CreateRequest{Dir: dirs[n], Env: os.Environ()})
			if id = box.ID; err != nil {
				return err
			}
			return d.exec(ctx, id)
		}, after: func() error { return d.sh(ctx, id, dirs[n], touch) }},
			&measured{name: grown("diff", "base", n), do: func() error { return d.diff(ctx, id, 1) },
				after: func() error { return d.Remove(ctx, id, true) }})
	}
	if err := interleave(rounds, cases); err != nil {
		return err
	}
	for _, c := range cases {
		r.add(c.name, c.times, "")
	}
	return nil
}

// inBox measures boxes that have changed ever more files.
func inBox(ctx context.Context, d *daemon, r *report, sizes []int) error {
	for _, n := range sizes {
		id, err := d.create(ctx)
		if err != nil {
			return err
		}
		script := fmt.Sprintf("mkdir /tmp/grow && cd /tmp/grow && seq %d | xargs touch", n)
		if err := d.sh(ctx, id, "/", []string{"sh", "-c", script}); err != nil {
			return err
		}
		diff := &measured{name: grown("diff", "box", n), do: func() error { return d.diff(ctx, id, n) }}
		again := &measured{name: grown("exec after rest", "box", n), do: func() error {
			return d.exec(ctx, id)
		}, after: func() error { _, err := d.Stop(ctx, id, new(time.Duration)); return err }}
		if _, err := d.Stop(ctx, id, new(time.Duration)); err != nil {
			return err
		}
		if err := interleave(5, []*measured{again, diff}); err != nil {
			return err
		}
		r.add(again.name, again.times, "")
		r.add(diff.name, diff.times, "")
		if err := d.Remove(ctx, id, true); err != nil {
			return err
		}
	}
	return nil
}

func (d *daemon) sh(ctx context.Context, box, dir string, argv []string) error {
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: dir}}
	session, err := d.Exec(ctx, box, req, forkbox.Stdio{})
	if err != nil {
		return err
	}
	return finish(ctx, session)
}

func (d *daemon) diff(ctx context.Context, box string, atLeast int) error {
	n := 0
	_, err := d.Changes(ctx, box, forkbox.DiffSpec{Selection: forkbox.Selection{All: true}}, func(forkbox.Change) error { n++; return nil })
	if err == nil && n < atLeast {
		err = fmt.Errorf("diff shows %d changes, there are %d or more", n, atLeast)
	}
	return err
}

// tree makes a directory with n small files.
func tree(n int) (string, error) {
	dir, err := os.MkdirTemp("", "fbtest-tree-")
	if err != nil {
		return "", err
	}
	return dir, fill(dir, n, "x\n")
}

// fill makes n small files in dir, at most a thousand in each directory of it.
// Those that are there already get the new content.
func fill(dir string, n int, content string) (err error) {
	for i := 0; err == nil && i < n; i++ {
		sub := filepath.Join(dir, fmt.Sprint(i/1000))
		if i%1000 == 0 {
			err = os.MkdirAll(sub, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), []byte(content), 0o644)
		}
	}
	return err
}
