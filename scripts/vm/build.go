package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// build makes all that a machine needs in the directory work.
func build(ctx context.Context, work string, jobs []job) (*machine, error) {
	k, err := findKernel(ctx)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(work, "root")
	if err := k.install(ctx, root); err != nil {
		return nil, err
	}
	if err := furnish(ctx, root); err != nil {
		return nil, err
	}
	runs, err := install(ctx, root, jobs)
	if err != nil {
		return nil, err
	}
	m := &machine{kernel: k.image, initrd: filepath.Join(work, "initrd"), log: filepath.Join(work, "console"), runs: runs}
	if err := makeInitramfs(m.initrd, root, k.release); err != nil {
		return nil, err
	}
	p := plan.Plan{Runs: runs, Disks: planDisks()}
	if err := writePlan(root, p); err != nil {
		return nil, err
	}
	m.disks, err = makeDisks(ctx, work, root)
	return m, err
}

// install puts the test binaries, or scripts, of the jobs and the init into
// the machine.
func install(ctx context.Context, root string, jobs []job) (runs []plan.Run, err error) {
	if err := compile(ctx, root, "./scripts/vm/init", plan.Init, "build"); err != nil {
		return nil, err
	}
	for _, j := range jobs {
		r := plan.Run{Name: j.name, Env: j.env, Place: j.place, Timeout: jobLimit}
		if j.script != "" {
			err = j.installScript(root, &r)
		} else {
			err = j.installTests(ctx, root, &r)
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func (j job) installScript(root string, r *plan.Run) error {
	file := filepath.Join("/vm", filepath.Base(j.script))
	r.Dir, r.Command = "/", []string{file}
	return copyFile(j.script, filepath.Join(root, file))
}

// installTests gives each job a directory of its own: tests may write there.
func (j job) installTests(ctx context.Context, root string, r *plan.Run) error {
	binary := filepath.Join("/vm", filepath.Base(j.pkg)+".test")
	if _, err := os.Stat(filepath.Join(root, binary)); os.IsNotExist(err) { // else an earlier job has it
		if err := compile(ctx, root, j.pkg, binary, "test", "-c"); err != nil {
			return err
		}
	}
	r.Dir = filepath.Join("/vm", j.pkg, string(j.place))
	if err := copyTree(filepath.Join(j.pkg, "testdata"), filepath.Join(root, r.Dir, "testdata")); err != nil && !os.IsNotExist(err) {
		return err
	}
	// The test gives up, and says where it stood, before init loses patience.
	timeout := (r.Timeout * 9 / 10).String()
	r.Command = []string{binary, "-test.v=test2json", "-test.timeout", timeout, "-test.run", j.tests}
	return os.MkdirAll(filepath.Join(root, r.Dir), 0o777)
}

// compile builds a static binary of pkg for the machine.
func compile(ctx context.Context, root, pkg, binary string, how ...string) error {
	args := append(how, "-o", filepath.Join(root, binary), pkg)
	_, err := output(ctx, "env", append([]string{"CGO_ENABLED=0", "go"}, args...)...)
	if err != nil {
		return fmt.Errorf("cannot build %s: %w", pkg, err)
	}
	// A package without tests compiles to nothing.
	_, err = os.Stat(filepath.Join(root, binary))
	return err
}

func writePlan(root string, p plan.Plan) error {
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, plan.File), content, 0o644)
}
