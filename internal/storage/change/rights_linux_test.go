package change

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

// nobody is a user that a daemon of root's tells the changes to.
var nobody = &forkbox.Owner{UID: 65534, GID: 65534, Groups: []int{65534}}

const (
	secret = "printf 'user=admin\\nhost=db\\npassword=right\\nport=5432\\n'"
	guess  = "printf 'user=admin\\nhost=db\\npassword=wrong\\nport=5432\\n'"
)

// TestPromise8NoAnswerToAGuess: how much a user's file is like one that the user
// may not read, or whether it is the same, is not told.
func TestPromise8NoAnswerToAGuess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the files of others are root's to make")
	}
	for _, c := range []struct {
		name, base, box string
		want            []string
	}{
		{"alike", secret + ">root; chmod 600 root", "rm root; " + guess + ">guess; chown 65534 guess", []string{"added file /guess", "deleted file /root"}},
		{"the same", secret + ">root; chmod 600 root", "rm root; " + secret + ">guess; chown 65534 guess", []string{"added file /guess", "deleted file /root"}},
		{"in its place", secret + ">root; chmod 600 root", "rm root; " + secret + ">root; chmod 600 root; chown 65534 root", []string{"modified file /root (owner)"}},
		{"the box's is not theirs to read", secret + ">root; chmod 600 root; " + guess + ">guess; chown 65534 guess", "mv root moved; rm guess", []string{"deleted file /guess", "added file /moved", "deleted file /root"}},
		{"may be written", secret + ">root; " + secret + ">open; chmod 600 root; chmod 622 open", "rm root; mv open root", []string{"deleted file /open", "modified file /root (mode)"}},
		{"the way is closed", "mkdir d; " + secret + ">d/in; chmod 700 d", "rm -r d; " + secret + ">guess; chown 65534 guess", []string{"deleted dir /d +1", "added file /guess"}},
		{"below", "mkdir d; " + secret + ">d/in; chmod 600 d/in", "rm -r d; " + secret + ">guess; chown 65534 guess", []string{"deleted dir /d +1", "added file /guess"}},
		{"may be read", secret + ">root", "rm root; " + guess + ">guess", []string{"renamed file /guess from /root 65%"}},
		{"put back by root", secret + ">root; chmod 600 root", "mv root r; mv r root", []string{}},
		{"their own, closed", secret + ">own; chmod 0 own; chown 65534 own", "mv own moved", []string{"renamed file /moved from /own 100%"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, "umask 022\n"+c.base)
			inOverlay(t, f, "redirect_dir=on", func(merged string) error { return run(merged, "umask 022\n"+c.box) })
			src := f.source()
			src.Reader = nobody
			wantRenames(t, src, c.want...)
		})
	}
}

// TestPromise8ClosedSidesAreNotShown: what is opened for a user is what that user
// may read. Who lands changes opens the rest.
func TestPromise8ClosedSidesAreNotShown(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, "umask 022; echo s >gone; echo s >moved; chmod 600 gone moved; mkdir d; echo s >d/in; chmod 755 d")
	inOverlay(t, f, "redirect_dir=on", func(merged string) error { return run(merged, "rm gone; mv moved there; echo x >d/in") })
	shell(t, f.base, "chmod 700 d") // since
	src := f.source()
	src.Reader = nobody
	err := Read(t.Context(), src, func(c forkbox.Change, s forkbox.Sides) error {
		if c.Type != "file" {
			return nil
		}
		open, show := s.OpenOld, s.(guarded).ShowOld
		if c.Kind == forkbox.Added {
			open, show = s.OpenNew, s.(guarded).ShowNew
		}
		file, err := open()
		if err != nil {
			return err
		}
		file.Close()
		if file, err = show(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s is shown: %v, %v", c.Path, file, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPromise8AccessLists: they count as they do for the kernel.
func TestPromise8AccessLists(t *testing.T) {
	const owner, group, other = "\x01\x00\x06\x00\xff\xff\xff\xff", "\x04\x00\x04\x00\xff\xff\xff\xff", "\x20\x00\x04\x00\xff\xff\xff\xff"
	const closed = "\x20\x00\x00\x00\xff\xff\xff\xff"
	entry := func(tag, perm byte, id string) string { return string([]byte{tag, 0, perm, 0}) + id }
	const nobodyID, nobodysGroup, all = "\xfe\xff\x00\x00", "\xfe\xff\x00\x00", "\xff\xff\xff\xff"
	for _, c := range []struct {
		name, list string
		want       bool
	}{
		{"of others", owner + group + other, true},
		{"a user is shut out", owner + entry(2, 0, nobodyID) + group + entry(16, 4, all) + other, false},
		{"a user is let in", owner + entry(2, 4, nobodyID) + group + entry(16, 4, all) + closed, true},
		{"the mask", owner + entry(2, 4, nobodyID) + group + entry(16, 0, all) + closed, false},
		{"a group is shut out", owner + group + entry(8, 0, nobodysGroup) + entry(16, 4, all) + other, false},
		{"a group is let in", owner + group + entry(8, 4, nobodysGroup) + entry(16, 4, all) + closed, true},
	} {
		if got := newAudience(nobody).listed([]byte("\x02\x00\x00\x00"+c.list), 0, 4); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestPromise8ClosedTreesAreNotListed: of a directory that a user may move and
// not look into, nothing is told but that it is there.
func TestPromise8ClosedTreesAreNotListed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the directories of others are root's to make")
	}
	f := twoTrees(t, "mkdir -p rd/sub; echo s >rd/in; chmod 700 rd", "", "mv rd rd2; mkdir -p o/c; echo s >o/c/in; chmod 700 o/c; echo x >o/open")
	trees := f.trees(t, Path{"/o", true}, Path{"/rd", true}, Path{"/rd2", true})
	trees.Reader = nobody
	want := []string{"added dir /o", "added dir /o/c", "added file /o/open", "deleted dir /rd", "added dir /rd2"}
	if got := lines(differences(t, trees)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
