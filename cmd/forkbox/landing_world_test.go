//go:build linux

package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// insideVar names the variable that makes the test binary do a job in a box,
// where it is run as a command: "look", "flip",
// "edits SEED", or "mutate SEED STEPS".
const insideVar = "FORKBOX_TEST_INSIDE"

// Before the tests' own main, which leaves files in the temporary directory: a
// job must change nothing but what it is for.
func init() {
	if job := os.Getenv(insideVar); job != "" {
		if err := inside(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func inside(job string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	var seed uint64
	var steps int
	if n, _ := fmt.Sscanf(job, "mutate %d %d", &seed, &steps); n == 2 {
		g := newGrower(root, seed)
		g.mutate(steps)
		fmt.Println(strings.Join(g.did, "\n"))
		return nil
	}
	if n, _ := fmt.Sscanf(job, "edits %d", &seed); n == 1 {
		made, err := editEach(root, seed)
		if err != nil {
			return err
		}
		return gob.NewEncoder(os.Stdout).Encode(made)
	}
	if job == "flip" {
		return flip()
	}
	all, err := look(root)
	if err != nil {
		return err
	}
	return gob.NewEncoder(os.Stdout).Encode(all)
}

// landWorld is a workspace in reality and a forkbox with a daemon of its own.
type landWorld struct {
	world
	ws       string // its root
	boxes    []string
	receipts map[string]bool // every id that was in use
}

func newLandWorld(t *testing.T) *landWorld {
	t.Helper()
	w := &landWorld{world: makeWorld(t, "", "ws"), receipts: map[string]bool{}}
	w.ws = w.root
	t.Cleanup(w.end)
	return w
}

// end removes the boxes, which would outlive their daemon, and everything else.
func (w *landWorld) end() {
	if len(w.boxes) > 0 {
		_ = w.command(append([]string{"rm", "-f"}, w.boxes...)...).Run()
	}
	removeHome(w.T, w.home)
	// Where the store is on another disk, what a receipt keeps is up there.
	for id := range w.receipts {
		for dir := filepath.Dir(filepath.Dir(w.ws)); id != ""; dir = filepath.Dir(dir) {
			if err := os.RemoveAll(filepath.Join(dir, ".forkbox-"+id)); err != nil {
				w.Error(err)
			}
			if dir == "/" {
				break
			}
		}
	}
}

// fb runs forkbox in the workspace, and expects it to succeed.
func (w *landWorld) fb(args ...string) string {
	w.Helper()
	out, refused := w.try(args...)
	if refused != nil {
		w.Fatalf("forkbox %q: %v %v\n%s", args, refused, refused.Items, w.log())
	}
	return out
}

// try runs forkbox and returns the error that it reports.
func (w *landWorld) try(args ...string) (string, *forkbox.Error) {
	w.Helper()
	cmd := w.command(append([]string{"--json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	refused := &forkbox.Error{}
	var report struct{ Error *forkbox.Error }
	if json.Unmarshal(stderr.Bytes(), &report) == nil && report.Error != nil {
		return string(out), report.Error
	}
	if json.Unmarshal(stderr.Bytes(), refused) != nil || refused.Code == "" {
		w.Fatalf("forkbox %q: %v: %s", args, err, stderr.String())
	}
	return string(out), refused
}

// fork makes a box of the workspace.
func (w *landWorld) fork(name string) string {
	w.Helper()
	w.fb("new", "--name", name)
	w.boxes = append(w.boxes, name)
	return name
}

// in runs a command in a box and returns what it wrote.
func (w *landWorld) in(box string, argv ...string) string {
	w.Helper()
	return w.output(w.command(append([]string{"exec", box, "--"}, argv...)...))
}

func (w *landWorld) output(cmd *exec.Cmd) string {
	w.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("%q: %v\n%s", cmd.Args, err, stderr.String())
	}
	return string(out)
}

// job has the test binary itself do something in a box.
func (w *landWorld) job(box, job string) string {
	w.Helper()
	self, err := os.Executable()
	w.ok(err)
	return w.output(w.command("exec", "-e", insideVar+"="+job, box, "--", self))
}

// boxTree is the workspace as the box sees it.
func (w *landWorld) boxTree(box string) tree {
	w.Helper()
	var all tree
	w.ok(gob.NewDecoder(strings.NewReader(w.job(box, "look"))).Decode(&all))
	return all
}

// reality is the workspace as it is.
func (w *landWorld) reality() tree {
	w.Helper()
	all, err := look(w.ws)
	w.ok(err)
	return all
}

// apply lands everything in a box and returns the receipt's id, "" if there
// was nothing to land.
func (w *landWorld) apply(box string, args ...string) string {
	w.Helper()
	id, refused := w.applied(append([]string{"apply", "--yes", box}, args...)...)
	if refused != nil {
		w.Fatalf("apply %q: %v %v\n%s", args, refused, refused.Items, w.log())
	}
	return id
}

// applied runs an apply that may be refused.
func (w *landWorld) applied(args ...string) (id string, refused *forkbox.Error) {
	w.Helper()
	out, refused := w.try(args...)
	if refused != nil {
		return "", refused
	}
	var r forkbox.Receipt
	w.ok(json.Unmarshal([]byte(out), &r))
	w.receipts[r.ID] = true
	return r.ID, nil
}

// states are those of all receipts.
func (w *landWorld) states() map[string]forkbox.ReceiptState {
	w.Helper()
	var list struct{ Receipts []forkbox.Receipt }
	w.ok(json.Unmarshal([]byte(w.fb("receipts")), &list))
	all := map[string]forkbox.ReceiptState{}
	for _, r := range list.Receipts {
		all[r.ID] = r.State
	}
	return all
}

// noStaging looks for staging directories in the workspace, and for those of
// this test in every directory above it.
func (w *landWorld) noStaging(when string) {
	w.Helper()
	for path := range w.reality() {
		if strings.HasPrefix(filepath.Base(path), ".forkbox-") {
			w.Errorf("%s: %q is left in the workspace", when, path)
		}
	}
	for id := range w.receipts {
		for dir := filepath.Dir(w.ws); id != "" && dir != "/."; dir = filepath.Dir(dir) {
			if _, err := os.Lstat(filepath.Join(dir, ".forkbox-"+id)); err == nil {
				w.Errorf("%s: the staging directory of %s is left in %s", when, id, dir)
			}
			if dir == "/" {
				break
			}
		}
	}
}
