//go:build unix

package change

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
)

// scriptedDaemon answers with the changes and errors it is given, and remembers
// what it was asked to apply: what a real box cannot be brought to do at a
// chosen moment, it can.
type scriptedDaemon struct {
	looks   [][]forkbox.Change // one for each look; the last stays
	hashes  []string
	refuse  *forkbox.Error
	applied []forkbox.ApplySpec
	queries []string
}

func (d *scriptedDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		d.queries = append(d.queries, r.URL.RawQuery)
		json.NewEncoder(w).Encode(map[string]any{"changes": d.looks[0], "summary": forkbox.Summary{Hash: d.hashes[0]}})
		if len(d.looks) > 1 {
			d.looks, d.hashes = d.looks[1:], d.hashes[1:]
		}
		return
	}
	var spec forkbox.ApplySpec
	json.NewDecoder(r.Body).Decode(&spec)
	d.applied = append(d.applied, spec)
	if d.refuse != nil {
		w.WriteHeader(d.refuse.Code.Status())
		json.NewEncoder(w).Encode(api.ErrorBody{Error: d.refuse})
		return
	}
	json.NewEncoder(w).Encode(forkbox.Receipt{ID: "r1", Paths: 1})
}

// landWith runs apply against the daemon with these answers on stdin.
func landWith(t *testing.T, d *scriptedDaemon, l *Lander, answers string) (stdout, stderr string, err error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "fb") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("FORKBOX_SOCKET", filepath.Join(dir, "s"))
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: d}
	go web.Serve(listener)
	t.Cleanup(func() { web.Close() })
	var out, errs bytes.Buffer
	l.App = app.New("", nil, &out, &errs)
	l.Stdin = bufio.NewReader(strings.NewReader(answers))
	err = l.run(t.Context(), "try", nil)
	return out.String(), errs.String(), err
}

// TestPromise3WhatYouChoseIsWhatLands: the apply names exactly what was agreed
// to, and the hash of it, taken when it still was what had been shown.
func TestPromise3WhatYouChoseIsWhatLands(t *testing.T) {
	a, b := modified(t, "/w/a", "x\n", "y\n"), modified(t, "/w/b", numbered(30), numbered(30, 1, 30))
	d := &scriptedDaemon{looks: [][]forkbox.Change{{a, b}, {b}}, hashes: []string{"", "sha256:chosen"}}
	stdout, stderr, err := landWith(t, d, &Lander{Interactive: true}, "n\nn\ny\n")
	if err != nil || stdout != "r1\n" {
		t.Fatalf("%v %q\n%s", err, stdout, stderr)
	}
	want := forkbox.ApplySpec{
		Selection: forkbox.Selection{Paths: forkbox.Strings{"/w/b"}, Exact: true},
		Hunks:     []forkbox.HunkSelection{{Path: "/w/b", Hunks: []int{2}}}, Reviewed: "sha256:chosen",
	}
	if len(d.applied) != 1 || !reflect.DeepEqual(d.applied[0], want) {
		t.Errorf("asked for %+v", d.applied)
	}
	if last := d.queries[len(d.queries)-1]; !strings.Contains(last, "exact=1") || !strings.Contains(last, "hash=1") {
		t.Errorf("the hash was asked for with %q", last)
	}
}

// A box that goes on changing while the reviewer chooses lands nothing.
func TestPromise3ABoxThatChangedWhileChoosingIsRefused(t *testing.T) {
	shown, now := modified(t, "/w/a", "x\n", "good\n"), modified(t, "/w/a", "x\n", "evil\n")
	for name, second := range map[string][]forkbox.Change{"other bytes": {now}, "gone": {}} {
		d := &scriptedDaemon{looks: [][]forkbox.Change{{shown}, second}, hashes: []string{"", "sha256:evil"}}
		stdout, _, err := landWith(t, d, &Lander{Interactive: true}, "y\n")
		if forkbox.CodeOf(err) != forkbox.Conflict || len(d.applied) != 0 || stdout != "" {
			t.Errorf("%s: %v, asked for %+v", name, err, d.applied)
		}
	}
}

func TestPromise3AReviewThatIsOutOfDateIsNotAskedAbout(t *testing.T) {
	d := &scriptedDaemon{looks: [][]forkbox.Change{{modified(t, "/w/a", "x\n", "y\n")}}, hashes: []string{"sha256:now"}}
	l := &Lander{Interactive: true}
	l.Spec.Reviewed = "sha256:then"
	_, stderr, err := landWith(t, d, l, "y\n")
	if forkbox.CodeOf(err) != forkbox.Conflict || len(d.applied) != 0 || strings.Contains(stderr, "Apply") {
		t.Errorf("%v\n%s", err, stderr)
	}
}

func TestChoosingNothingAppliesNothing(t *testing.T) {
	d := &scriptedDaemon{looks: [][]forkbox.Change{{modified(t, "/w/a", "x\n", "y\n")}}, hashes: []string{""}}
	stdout, stderr, err := landWith(t, d, &Lander{Interactive: true}, "n\n")
	if err != nil || stdout != "" || len(d.applied) != 0 || !strings.Contains(stderr, "nothing was chosen") {
		t.Errorf("%v %q %q", err, stdout, stderr)
	}
}

// Without a terminal there is no question, and an answer in a pipe is none.
func TestASecondLookNeedsSomebody(t *testing.T) {
	refusal := forkbox.Errorf(forkbox.Unconfirmed, "apply", "1 of the changes deserves a second look").About("/w/.git/hooks/x", "a git hook")
	refusal.Hash = "sha256:looked"
	d := &scriptedDaemon{refuse: refusal}
	stdout, _, err := landWith(t, d, &Lander{}, "y\n")
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != forkbox.Unconfirmed || stdout != "" || len(d.applied) != 1 || d.applied[0].Yes {
		t.Fatalf("%v, asked for %+v", err, d.applied)
	}
	if !strings.Contains(strings.Join(e.Hints, "\n"), "--yes") {
		t.Errorf("hints: %q", e.Hints)
	}
}

func TestConflictsSayWhatToDo(t *testing.T) {
	d := &scriptedDaemon{refuse: forkbox.Errorf(forkbox.Conflict, "apply", "both changed it").About("/w/a", "the same lines")}
	_, _, err := landWith(t, d, &Lander{}, "")
	var e *forkbox.Error
	if !errors.As(err, &e) || len(e.Items) != 1 {
		t.Fatal(err)
	}
	hints := strings.Join(e.Hints, "\n")
	if !strings.Contains(hints, "forkbox sync try") || !strings.Contains(hints, "--conflict") {
		t.Errorf("hints: %s", hints)
	}
	var out bytes.Buffer
	app.New("", nil, nil, &out).Report(e)
	if !strings.Contains(out.String(), "  /w/a: the same lines\n") {
		t.Errorf("%s", out.String())
	}
}
