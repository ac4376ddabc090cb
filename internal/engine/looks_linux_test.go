package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// maxUnknown is how many of a hundred merges that git can make, given the true
// base, may be refused because the base is not known.
const maxUnknown = 1

// Both sides edit the same files, in a git repository or not, at moments that
// chance orders: before and after the box is looked at, by a box that is asked
// what it changed in between or not. FORKBOX_TEST_BASES is how many boxes.
func TestBasesAreKnown(t *testing.T) {
	boxes := 3
	if n, err := strconv.Atoi(os.Getenv("FORKBOX_TEST_BASES")); err == nil {
		boxes = n
	}
	for _, kind := range []string{"git", "plain"} {
		t.Run(kind, func(t *testing.T) {
			p := &parallel{lab: newLab(t), git: kind == "git"}
			for seed := range uint64(boxes) {
				p.Rand = rand.New(rand.NewPCG(seed, 0))
				p.play(seed)
			}
			t.Logf("git merges %d, of which %d are refused for an unknown base", p.mergeable, p.unknown)
			if p.mergeable < 20*boxes || 100*p.unknown > maxUnknown*p.mergeable {
				t.Errorf("%d of %d are refused", p.unknown, p.mergeable)
			}
		})
	}
}

// parallel is people who work on the same files, in boxes and in reality.
type parallel struct {
	*lab
	*rand.Rand
	git                bool
	mergeable, unknown int
}

// history is one file's.
type history struct {
	name          string
	base          string
	inBox, inReal int // when it is edited
}

const moments = 5

// files makes new ones, so that each box begins without knowledge, and changes
// some of the old ones.
func (p *parallel) files(seed uint64) (all []history) {
	kinds := []string{"clean", "dirty", "untracked", "ignored.o"}
	for n := range 40 {
		name := fmt.Sprintf("d%d/%d-%d-%s", n%3, seed, n/4, kinds[n%4])
		var text strings.Builder
		for line := range 20 {
			fmt.Fprintf(&text, "%s %d\n", name, line)
		}
		p.real(name, text.String())
		all = append(all, history{name: name, base: text.String(), inBox: p.IntN(moments), inReal: p.IntN(moments)})
	}
	if !p.git {
		return all
	}
	p.sh("git init -q .; echo '*.o' >.gitignore; git add .gitignore */*-clean */*-dirty; git -c user.name=a -c user.email=a@b commit -qm x")
	for i, h := range all {
		if strings.HasSuffix(h.name, "dirty") {
			all[i].base = h.base + "not committed\n"
			p.real(h.name, all[i].base)
		}
	}
	return all
}

func (p *parallel) sh(script string) {
	p.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = p.reality
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

func (p *parallel) play(seed uint64) {
	p.t.Helper()
	all := p.files(seed)
	b := p.box(fmt.Sprintf("box%d", seed))
	p.looked()
	for at := range moments {
		for _, i := range p.Perm(len(all)) {
			h := all[i]
			if first := p.IntN(2) == 0; first && h.inReal == at {
				p.real(h.name, p.edited(p.now(p.reality, h.name)))
			}
			if h.inBox == at {
				p.edit(b, h.name, p.edited(p.now(p.reality, h.name)))
			}
			if h.inReal == at && p.now(p.reality, h.name) == h.base {
				p.real(h.name, p.edited(h.base))
			}
		}
		if p.IntN(3) == 0 {
			p.changesManager.Observe(b.ID)
		}
		if p.git && p.IntN(3) == 0 {
			p.sh("git add */*-clean; git status >/dev/null") // reality goes on with git as well
		}
	}
	p.land(b, all)
}

// now is what a side has.
func (p *parallel) now(dir, name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	check(p.t, err)
	return string(text)
}

// edited changes a line, adds one or takes one away.
func (p *parallel) edited(text string) string {
	lines := strings.SplitAfter(text, "\n")
	i := p.IntN(len(lines) - 1)
	switch p.IntN(4) {
	case 0:
		lines[i] = ""
	case 1:
		lines[i] += fmt.Sprintf("added %d\n", p.Uint64())
	default:
		lines[i] = fmt.Sprintf("changed %d\n", p.Uint64())
	}
	return strings.Join(lines, "")
}

// land counts what git merges and forkbox does not for want of a base, and
// compares what it does merge.
func (p *parallel) land(b forkbox.Box, all []history) {
	p.t.Helper()
	merged := map[string]string{}
	var sel forkbox.Selection
	for _, h := range all {
		if text, ok := p.gitMerge(h.base, p.now(p.reality, h.name), p.now(p.uppers+"/"+b.ID, h.name)); ok {
			path := p.reality + "/" + h.name
			merged[path], sel.Paths = text, append(sel.Paths, path)
			p.mergeable++
		}
	}
	_, err := p.apply(b.Name, forkbox.ApplySpec{Selection: sel, DryRun: true})
	for _, x := range refusals(err) {
		if strings.Contains(x.Why, "is not known") {
			p.unknown++
		}
		p.t.Logf("%s: %s", x.Path, x.Why)
		delete(merged, x.Path)
	}
	sel.Paths = nil
	for path := range merged {
		sel.Paths = append(sel.Paths, path)
	}
	p.mustApply(b.Name, forkbox.ApplySpec{Selection: sel})
	for path, want := range merged {
		if got := p.now("/", path); got != want {
			p.t.Errorf("%s is\n%swant\n%s", path, got, want)
		}
	}
}

func refusals(err error) []forkbox.Caution {
	var e *forkbox.Error
	if errors.As(err, &e) {
		return e.Items
	}
	return nil
}

func (p *parallel) gitMerge(base, ours, theirs string) (string, bool) {
	p.t.Helper()
	dir := p.t.TempDir()
	for name, text := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		check(p.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("git", "merge-file", "-p", "ours", "base", "theirs")
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return string(out), err == nil
}

// looked waits until no box waits for a look at its workspace.
func (l *lab) looked() {
	l.t.Helper()
	l.eventually("a look at the workspace", func() bool { going, _ := l.Looking(); return !going })
}

const asForked, asBoxed, asEdited = "1\n2\n3\n4\n5\n", "1\nbox\n3\n4\n5\n", "1\n2\n3\n4\nreality\n"

// heldLab is a lab whose looks wait until they may go on.
func heldLab(t *testing.T) (l *lab, release func()) {
	l = newLab(t)
	hold := make(chan struct{})
	l.BeforeLooks(func() {
		select {
		case <-hold:
		case <-l.core.Ctx.Done():
		}
	})
	return l, func() { close(hold); l.looked() }
}

// What reality edited before the look is not merged on a guess.
func TestAnEditBeforeTheLookIsRefused(t *testing.T) {
	l, release := heldLab(t)
	l.real("f", asForked)
	l.real("g", asForked)
	b := l.box("one", "f", asBoxed, "g", asBoxed)
	l.real("f", asEdited)
	release()
	l.real("g", asEdited)
	_, err := l.apply("one", forkbox.ApplySpec{})
	if list := refusals(err); len(list) != 1 || list[0].Path != l.reality+"/f" {
		t.Errorf("%v", list)
	}
	l.mustApply("one", forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{l.reality + "/g"}}})
	if got := tree(l.reality)["g"]; !strings.Contains(got, "box\n") || !strings.Contains(got, "reality\n") {
		t.Errorf("%q of %s", got, b.Name)
	}
}

// A box that goes with its command costs no look, and a fork has what its parent
// has, also when that comes later.
func TestWhoseWorkspaceIsLookedAt(t *testing.T) {
	l, release := heldLab(t)
	l.real("f", asForked)
	passing, err := l.Create(context.Background(), me, CreateSpec{Dir: l.reality, Passing: true})
	check(t, err)
	if going, _ := l.Looking(); going {
		t.Error("there was a look for a box that is not to land")
	}
	parent := l.box("parent")
	child := parent
	child.ID = "child"
	l.Inherit(parent.ID, child)
	l.eventually("a wish for a look", func() bool {
		_, waiting := l.Looking()
		return waiting == 2
	})
	check(t, os.Mkdir(l.uppers+"/child.base", 0o700))
	release()
	l.real("f", asEdited)
	for box, want := range map[*forkbox.Box]bool{&passing: false, &parent: true, &child: true} {
		text, _, known, _, err := l.basesManager.Book(*box, l.reality).Base(t.Context(), l.reality+"/f")
		if err != nil || known != want || want && string(text) != asForked {
			t.Errorf("%s: %q, %v, %v", box.Name, text, known, err)
		}
	}
}

// A sync moves the fence, and what reality is then is looked at again.
func TestASyncIsLookedAt(t *testing.T) {
	l := newLab(t)
	l.real("f", asForked)
	l.real("g", asForked)
	b := l.box("one", "g", asBoxed)
	l.looked()
	l.real("f", asEdited)
	_, err := l.Sync(context.Background(), me, "one")
	check(t, err)
	l.looked()
	l.edit(b, "f", strings.Replace(asEdited, "2", "box", 1))
	l.real("f", strings.Replace(asEdited, "reality", "later", 1))
	l.mustApply("one", forkbox.ApplySpec{})
	if got := tree(l.reality)["f"]; !strings.HasSuffix(got, "1\nbox\n3\n4\nlater\n") {
		t.Errorf("%q", got)
	}
}
