//go:build linux

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// manyPaths is how many files the box of an operation's test has to land.
const manyPaths = 3000

// boxOfMany has a box with many new files, in a workspace that has none.
func boxOfMany(w *world, c *client.Client) (dir string) {
	w.Helper()
	dir = w.TempDir()
	w.must("ls")
	_, err := c.Create(w.Context(), api.CreateRequest{Name: "many", Dir: dir})
	w.ok(err)
	w.must("exec", "many", "--", "sh", "-c", `cd "$1" && seq 3000 | xargs touch`, "sh", dir)
	return dir
}

// applyAsync begins to land the box, and returns when it is under way.
func applyAsync(w *world) (op forkbox.Operation) {
	w.Helper()
	status, _, text := w.askSocket("POST", "/v1/boxes/many/apply", `{"yes":true}`, "Prefer", api.RespondAsync)
	if err := json.Unmarshal([]byte(text), &op); err != nil || status != http.StatusAccepted {
		w.Fatalf("%d %s", status, text)
	}
	return op
}

// landedPaths is how many of the box's files are in the workspace: all or none.
func landedPaths(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 && len(entries) != manyPaths {
		t.Errorf("%d of %d paths landed: %v", len(entries), manyPaths, err)
	}
	return len(entries)
}

// TestAnApplyIsFollowed to its end, with its receipt.
func TestAnApplyIsFollowed(t *testing.T) {
	t.Parallel()
	w, c := keyedWorld(t)
	dir := boxOfMany(w, c)
	op := applyAsync(w)
	var last forkbox.Operation
	err := c.FollowOperation(t.Context(), op.ID, func(op forkbox.Operation) error {
		last = op
		return nil
	})
	receipt, _ := last.Result.(map[string]any)
	if err != nil || last.State != forkbox.OperationDone || receipt["state"] != string(forkbox.Applied) || landedPaths(t, dir) != manyPaths {
		t.Errorf("%v %+v", err, last)
	}
	if last.Progress.Step != "landing" || last.Progress.Total != manyPaths {
		t.Errorf("%+v", last.Progress)
	}
}

// TestACancelledApplyLandsNothing, unless it was too late.
func TestACancelledApplyLandsNothing(t *testing.T) {
	t.Parallel()
	w, c := keyedWorld(t)
	dir := boxOfMany(w, c)
	op, err := c.CancelOperation(t.Context(), applyAsync(w).ID)
	landed := landedPaths(t, dir)
	if err != nil || op.State == forkbox.OperationCancelled && landed > 0 || op.State == forkbox.OperationDone && landed == 0 || op.Ended == nil {
		t.Errorf("%v, %d landed: %+v", err, landed, op)
	}
}

// TestAKilledDaemonInterruptsAnApply: the next one puts it back, or finishes it, and
// the operation says so.
func TestAKilledDaemonInterruptsAnApply(t *testing.T) {
	t.Parallel()
	w, c := keyedWorld(t)
	dir := boxOfMany(w, c)
	op := applyAsync(w)
	w.kill()
	w.must("ls")
	now, err := c.Operation(t.Context(), op.ID)
	landed := landedPaths(t, dir)
	switch {
	case err != nil || now.Ended == nil:
		t.Errorf("%v %+v", err, now)
	case now.State == forkbox.OperationDone && landed > 0:
	case now.State != forkbox.OperationInterrupted || now.Error == nil:
		t.Errorf("%+v", now)
	case landed > 0 && len(now.Found) == 0:
		t.Errorf("%d paths landed, and nothing is found: %+v", landed, now)
	}
}
