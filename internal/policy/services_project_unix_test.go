//go:build unix

package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestProjectServices: what a file says of services is read whole, with paths from
// where it lies.
func TestProjectServices(t *testing.T) {
	file := put(t, filepath.Join(t.TempDir(), projectFile), `
with: [db, 6379]
let_in: [5432]
services:
  db:
    match: {port: 5433, name: postgresql, unit: "x.service", data: /var/lib/x}
    data: [files, /srv/x]
    copy: delta
    max_pause: 200ms
    max_stale: 1d
    start: exec run
    ready: {exec: ask, within: 30s}
    after: cache
    settle: {run: mask}
  cache: {data: auto, copy: auto}
`)
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	got, err := LoadProjectServices(file)
	pause, stale := 200*time.Millisecond, 24*time.Hour
	want := forkbox.ServiceSettings{
		Match: forkbox.ServiceMatch{Port: 5433, Name: "postgresql", Unit: "x.service", Data: "/var/lib/x"},
		Data:  forkbox.Strings{dir + "/files", "/srv/x"}, Copy: "delta", MaxPause: &pause, MaxStale: &stale,
		Start: "exec run", Ready: "ask", Within: 30 * time.Second, After: forkbox.Strings{"cache"}, Settle: "mask", Dir: dir,
	}
	db := got.Settings["db"]
	want.SettleOf = db.SettleOf
	if err != nil || !reflect.DeepEqual(got.With, []string{"db", "6379"}) || !reflect.DeepEqual(db, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if cache := got.Settings["cache"]; cache.Data != nil || cache.Copy != "" {
		t.Errorf("auto is %+v", cache)
	}
	if _, wish, err := LoadProjectNet(file); err != nil || !reflect.DeepEqual(wish.LetIn, []int{5432}) {
		t.Errorf("let in: %+v, %v", wish, err)
	}
	if err := forkbox.CheckServices(got.Settings); err != nil {
		t.Error(err)
	}
}

// TestProjectServicesRefuse: what is not understood is an error with its line, and
// with what may have been meant.
func TestProjectServicesRefuse(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"with: {db: 1}\n":                                                          "line 1: with: there should be a list",
		"let_in: [0]\n":                                                            `line 1: let_in: "0" is no port`,
		"services: [db]\n":                                                         `line 1: there should be "key: value" lines`,
		"services:\n  5432: {}\n":                                                  "line 2: services: \"5432\" cannot be the name of a service: it is taken for a port",
		"services:\n  all: {}\n":                                                   "it stands for all of them",
		"services:\n  Db: {}\n":                                                    `"Db" cannot be the name of a service`,
		"services:\n  db:\n    coppy: delta\n":                                     `line 3: "coppy" is not something it knows (did you mean copy?`,
		"services:\n  db:\n    copy: detla\n":                                      `line 3: copy: there is no way "detla" (did you mean delta?`,
		"services:\n  db: {match: 5432}\n":                                         `line 2: there should be "key: value" lines ({port: 5432}`,
		"services:\n  db: {settle: mask}\n":                                        `line 2: there should be "key: value" lines ({run: mask}`,
		"services:\n  db: {match: {prot: 1}}\n":                                    "did you mean port?",
		"services:\n  db: {data: []}\n":                                            "line 2: data: it is auto, or a list of files and directories",
		"services:\n  db: {data: [.]}\n":                                           "has the project itself in it",
		"services:\n  db: {data: [/]}\n":                                           `"/" is no path of data`,
		"services:\n  db: {data: [~bob/x]}\n":                                      "whose home that is is not looked up",
		"services:\n  db:\n    max_pause: 5s\n":                                    "line 3: max_pause: a file cannot have a service stand still for longer than 500ms (--pause 5s",
		"services:\n  db: {max_stale: soon}\n":                                     `line 2: max_stale: "soon"`,
		"services:\n  db: {ready: {within: 0s}}\n":                                 "within: it is a time above zero",
		"services:\n  db: {start: ''}\n":                                           "start: there is nothing in it",
		"services:\n  db: {copy: none, settle: {run: x}}\n":                        "line 2: services: db: there is nothing to settle where nothing is copied",
		"services:\n  db: {copy: none, data: [x]}\n":                               "copies nothing",
		"services:\n  db: {settle: {run: psql -f m}}\n":                            "psql goes on after an error",
		"services:\n  a: {after: [a]}\n":                                           "line 2: services: a comes after itself",
		"services:\n  a:\n    after: [b]\n  b:\n    after: [c]\n  c: {after: a}\n": "line 3: services: they come after each other: a after b after c after a",
	} {
		file := put(t, filepath.Join(dir, projectFile), text)
		_, err := LoadProjectServices(file)
		if err == nil {
			t.Errorf("%q was taken", text)
			continue
		}
		said := err.Error()
		if e, ok := err.(*forkbox.Error); ok {
			said += " (" + strings.Join(e.Hints, "; ")
		}
		if !strings.Contains(said, want) {
			t.Errorf("%q: %s", text, said)
		}
	}
}

// TestWhatSettlesIsKnownByWhatItReads: another mask is another still, although the
// line is the same.
func TestWhatSettlesIsKnownByWhatItReads(t *testing.T) {
	dir := t.TempDir()
	mask := put(t, filepath.Join(dir, "mask.sql"), "one")
	line := "psql -v ON_ERROR_STOP=1 <mask.sql"
	first := contentOf(line, dir)
	if contentOf(line, dir) != first {
		t.Error("the same is not the same")
	}
	put(t, mask, "two")
	if contentOf(line, dir) == first {
		t.Error("another mask is the same")
	}
	if err := os.Remove(mask); err != nil {
		t.Fatal(err)
	}
	if contentOf(line, dir) == first {
		t.Error("without a mask it is the same")
	}
}
