package engine

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/storage/change"
	"golang.org/x/sys/unix"
)

// me is who runs the tests: reality is touched with no other user's rights.
var me = forkbox.Owner{UID: os.Getuid(), GID: os.Getgid(), Name: "me", Home: "/home/me"}

// lab is a world with a piece of reality, and boxes that have real upper
// directories of it.
type lab struct {
	*world
	reality  string // a directory, and the workspace of its boxes
	uppers   string
	receipts string
	config   func(*Config)
}

func newLab(t testing.TB) *lab {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	l := &lab{reality: dir + "/reality", uppers: dir + "/uppers", receipts: dir + "/receipts", config: func(*Config) {}}
	check(t, os.Mkdir(l.reality, 0o755))
	check(t, os.Mkdir(l.uppers, 0o755))
	l.world = newWorld(t, l.configure)
	return l
}

func (l *lab) configure(c *Config) {
	c.Provider = labProvider{c.Provider.(fakeProvider), l}
	c.Ledger = fusedReceipts{c.Ledger.(fusedLedger)}
	c.Receipts, c.Fence = l.receipts, l.fenceNow
	c.Bases = func(box string) string { return l.uppers + "/" + box + ".base" }
	l.config(c)
}

func (l *lab) again(f *fuse) { l.restart(f, l.configure) }

// latest is the newest receipt that can be undone.
func (l *lab) latest() string {
	list, err := l.Receipts(context.Background(), me)
	if i := slices.IndexFunc(list, func(r forkbox.Receipt) bool { return r.State == forkbox.Applied }); err == nil && i >= 0 {
		return list[i].ID
	}
	return "none"
}

// fenceNow is a time after everything that was written. Filesystems stamp with
// a clock that goes in steps.
func (l *lab) fenceNow() time.Time {
	probe := l.uppers + "/probe"
	check(l.t, os.WriteFile(probe, nil, 0o600))
	var st unix.Stat_t
	check(l.t, unix.Lstat(probe, &st))
	for {
		var now unix.Timespec
		check(l.t, unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now))
		if now.Nano() > st.Ctim.Nano() {
			return time.Unix(now.Unix())
		}
		time.Sleep(time.Millisecond)
	}
}

// labProvider reads changes off real directories.
type labProvider struct {
	fakeProvider
	lab *lab
}

func (p labProvider) upper(box forkbox.Box) string { return filepath.Join(p.lab.uppers, box.ID) }

func (p labProvider) source(box forkbox.Box) change.Source {
	return change.Source{Uppers: []change.Upper{{Mount: p.lab.reality, Dir: p.upper(box)}}, Base: "/", XattrPrefix: "user.overlay.", IgnoreOwner: true}
}

func (p labProvider) Prepare(ctx context.Context, box forkbox.Box) error {
	if err := os.MkdirAll(p.upper(box), 0o755); err != nil {
		return err
	}
	return p.fakeProvider.Prepare(ctx, box)
}

func (p labProvider) Changes(ctx context.Context, box forkbox.Box, yield func(forkbox.Change, forkbox.Sides) error) error {
	return change.Read(ctx, p.source(box), yield)
}

func (p labProvider) touched(box forkbox.Box, path string) bool {
	rel, ok := strings.CutPrefix(path, p.lab.reality)
	return ok && bases.Exists(p.upper(box)+rel)
}

func (p labProvider) Touches(box forkbox.Box) func(path string) bool {
	return func(path string) bool { return p.touched(box, path) }
}

func (p labProvider) Discard(ctx context.Context, box forkbox.Box, changes []forkbox.Change) error {
	return change.Discard(ctx, p.source(box), changes, p.lab.uppers)
}

func (p labProvider) KeepLanded(ctx context.Context, box forkbox.Box, changes []forkbox.Change, landed iter.Seq2[string, forkbox.Identity]) (map[string]forkbox.Identity, error) {
	return change.KeepLanded(ctx, p.source(box), changes, landed, p.lab.uppers)
}

// fusedReceipts counts the writing of receipts as steps, too.
type fusedReceipts struct{ fusedLedger }

func (l fusedReceipts) AddReceipt(ctx context.Context, r forkbox.Receipt, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.AddReceipt(ctx, r, tell...) })
}

func (l fusedReceipts) UpdateReceipt(ctx context.Context, r forkbox.Receipt, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.UpdateReceipt(ctx, r, tell...) })
}

func (l fusedReceipts) DeleteReceipt(ctx context.Context, id string, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.DeleteReceipt(ctx, id, tell...) })
}

// real writes a file of reality.
func (l *lab) real(name, text string) { l.write(l.reality+"/"+name, text) }

// box makes one. What it changed is told as name, text, name, text; a file that
// is "-" was deleted.
func (l *lab) box(name string, files ...string) forkbox.Box {
	l.t.Helper()
	b, err := l.Create(context.Background(), me, CreateSpec{Name: name, Dir: l.reality})
	check(l.t, err)
	l.edit(b, files...)
	return b
}

func (l *lab) edit(b forkbox.Box, files ...string) {
	l.t.Helper()
	for pair := range slices.Chunk(files, 2) {
		path := filepath.Join(l.uppers, b.ID, pair[0])
		if pair[1] != "-" {
			l.write(path, pair[1])
			continue
		}
		check(l.t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(l.t, unix.Mknod(path, unix.S_IFCHR, 0))
	}
}

func (l *lab) write(path, text string) {
	l.t.Helper()
	check(l.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(l.t, os.WriteFile(path, []byte(text), 0o644))
}

func (l *lab) apply(ref string, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	return l.Apply(context.Background(), me, ref, spec)
}

func (l *lab) mustApply(ref string, spec forkbox.ApplySpec) forkbox.Receipt {
	l.t.Helper()
	r, err := l.apply(ref, spec)
	check(l.t, err)
	return r
}

// tree is all that a directory holds.
func tree(dir string) map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(path)
			text = string(data)
		}
		all[strings.TrimPrefix(path, dir+"/")] = fmt.Sprint(info.Mode(), " ", text)
		return nil
	})
	return all
}

func (l *lab) wantTree(want map[string]string) {
	l.t.Helper()
	if got := tree(l.reality); !maps.Equal(got, want) {
		l.t.Fatalf("reality is %q\nwant %q", got, want)
	}
}

// leak is what of receipts there is that should not be: on disk without a
// record, in the record and not on disk, or not decided.
func (l *lab) leak() error {
	list, err := l.ledger.Receipts(context.Background(), nil)
	if err != nil {
		return err
	}
	states := map[string]forkbox.ReceiptState{}
	for _, r := range list {
		states[r.ID] = r.State
		switch {
		case r.State == forkbox.Landing:
			return fmt.Errorf("%s is undecided", r.ID)
		case r.State == forkbox.Applied && !bases.Exists(l.receipts+"/"+r.ID):
			return fmt.Errorf("%s cannot be undone: its journal is gone", r.ID)
		}
	}
	entries, _ := os.ReadDir(l.receipts)
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), ".")
		if states[id] == "" && e.Name() != "putback" && !strings.HasSuffix(e.Name(), ".putback") {
			return fmt.Errorf("nobody knows of %s", e.Name())
		}
	}
	for name := range tree(l.reality) {
		// With receipts on the same filesystem nothing is kept in reality.
		if strings.Contains(name, ".forkbox-") {
			return fmt.Errorf("%s was left in reality", name)
		}
	}
	return nil
}

func (l *lab) wantNoLeak() {
	l.t.Helper()
	if err := l.leak(); err != nil {
		l.t.Fatal(err)
	}
}
