package change

import (
	"slices"
	"strings"
	"testing"
)

const baseTree = `umask 022; mkdir d d/sub e other empty; echo a >d/a; echo b >d/b; echo s >d/sub/s; echo f >f; echo g >g
	ln -s f link; mkfifo fifo; echo x >other/x; truncate -s 1G sparse; mkdir twins; echo t >twins/a; ln twins/a twins/b; chmod 644 f g`

// cases: what is done in a box, and the changes it makes.
var cases = []struct {
	name, script string
	want         []string
}{
	{"nothing", "true", nil},
	{"added", "echo x >n; mkdir dir; echo y >dir/y", []string{"added dir /dir", "added file /dir/y", "added file /n"}},
	{"modified", "echo ff >f", []string{"modified file /f"}},
	{"same size", "echo F >f", []string{"modified file /f"}},
	{"truncated", ": >f", []string{"modified file /f"}},
	{"put back", "echo other >f; echo f >f; chmod 600 g; chmod 644 g; touch d d/a", nil},
	{"deleted and made again", "rm f; echo f >f", nil},
	{"deleted file", "rm f", []string{"deleted file /f"}},
	{"deleted directory", "rm -r d", []string{"deleted dir /d +4"}},
	{"deleted what was added", "echo x >n; rm n; mkdir n; rmdir n", nil},
	{"deleted below", "rm d/a", []string{"deleted file /d/a"}},
	{"mode", "chmod 600 f; chmod 700 d", []string{"mode dir /d (mode)", "mode file /f (mode)"}},
	{"mode of the root", "chmod 700 .", []string{"mode dir / (mode)"}},
	{"owner", "chown 1:1 f; chown -h 1:1 link", []string{"mode file /f (owner)", "mode symlink /link (owner)"}},
	{"opaque directory", "rm -r d; mkdir d; echo a >d/a", []string{"deleted file /d/b", "deleted dir /d/sub +1"}},
	{"opaque and changed", "rm -r d; mkdir d d/sub; echo A >d/a; echo n >d/n", []string{
		"modified file /d/a", "deleted file /d/b", "added file /d/n", "deleted file /d/sub/s"}},
	{"file to directory", "rm f; mkdir f; echo x >f/x", []string{"type dir /f (mode)", "added file /f/x"}},
	{"directory to file", "rm -r d; echo x >d", []string{"type file /d +4 (mode)"}},
	{"file to symlink", "rm f; ln -s g f", []string{"type symlink /f"}},
	{"symlink", "ln -sfn g link", []string{"modified symlink /link"}},
	{"symlink to a directory", "rm -r d; ln -s other d", []string{"type symlink /d +4"}},
	{"special files", "mkfifo p; mknod c c 1 3; mknod b b 7 0; rm f; mkfifo f; chmod 600 fifo", []string{
		"added block /b", "added char /c", "type fifo /f", "mode fifo /fifo (mode)", "added fifo /p"}},
	{"hard link after its file", "ln f h", []string{"added file /h = /f"}},
	{"hard link before its file", "ln f a", []string{"added file /a", "linked file /f = /a"}},
	{"three names", "ln f a; ln f h", []string{"added file /a", "linked file /f = /a", "added file /h = /a"}},
	{"linked and changed", "ln f h; echo more >>h", []string{"modified file /f", "added file /h = /f"}},
	{"two of the base made one", "ln -f f g", []string{"modified file /g = /f"}},
	{"new files linked", "echo x >n; ln n d/n; ln n z", []string{"added file /d/n", "added file /n = /d/n", "added file /z = /d/n"}},
	{"new file linked, and one name gone", "echo x >n; ln n m; rm m", []string{"added file /n"}},
	{"symlink and fifo linked", "ln -P link l2; ln fifo p2", []string{
		"added symlink /l2", "linked symlink /link = /l2", "added fifo /p2 = /fifo"}},
	{"links of the base, one written to", "echo A >twins/a", []string{"modified file /twins/a"}},
	{"links of the base, one touched", "touch twins/a; chmod 600 twins/b; chmod 644 twins/b", nil},
	{"links of the base, both rewritten as one", "echo T >twins/a; ln -f twins/a twins/b", []string{
		"modified file /twins/a", "modified file /twins/b = /twins/a"}},
	{"links of the base, made again as they were", "echo t >twins/n; rm twins/a twins/b; mv twins/n twins/a; ln twins/a twins/b", nil},
	{"links of the base, one more", "ln twins/b twins/c", []string{"added file /twins/c = /twins/b"}},
	{"links of the base, linked to another", "ln -f twins/a f", []string{"modified file /f", "linked file /twins/a = /f"}},
	{"owner, mode and content", "echo F >f; chmod 600 f; chown 3:4 f", []string{"modified file /f (mode owner)"}},
	{"type and mode", "rm f; mkdir f", []string{"type dir /f (mode)"}},
	{"sparse, equal", "chmod 600 sparse; chmod 644 sparse", nil},
	{"sparse, one byte", "printf x | dd of=sparse bs=1 seek=900000000 conv=notrunc 2>/dev/null", []string{"modified file /sparse"}},
	{"odd names", "touch 'new\nline' 'a b' -- -x '*'", []string{"added file /*", "added file /-x", "added file /a b", "added file /new\nline"}},
	{"order", "mkdir a a-b; touch a/z a-b/y", []string{"added dir /a", "added file /a/z", "added dir /a-b", "added file /a-b/y"}},
}

// renames need redirect_dir=on.
var renames = []struct {
	name, script string
	want         []string
}{
	{"renamed", "mv d z", []string{"renamed dir /z from /d"}},
	{"renamed to before", "mv d a", []string{"renamed dir /a from /d"}},
	{"renamed and changed", "mv d z; rm z/a; echo n >z/n; echo B >z/b", []string{
		"renamed dir /z from /d", "deleted file /z/a", "modified file /z/b", "added file /z/n"}},
	{"renamed into a new directory", "mkdir n; mv d n/d", []string{"added dir /n", "renamed dir /n/d from /d"}},
	{"moved twice", "mv d/sub e/s; mv d z; mv e/s z/t", []string{"renamed dir /z from /d", "renamed dir /z/t from /d/sub"}},
	{"renamed within a renamed one", "mv d z; mv z/sub z/bus", []string{"renamed dir /z from /d", "renamed dir /z/bus from /d/sub"}},
	{"out of a deleted one", "mv d/sub z; rm -r d", []string{"deleted dir /d +2", "renamed dir /z from /d/sub"}},
	{"over a deleted one", "rm -r other; mv d other", []string{"deleted dir /other +1", "renamed dir /other from /d"}},
	{"over an empty one", "mv -T d empty", []string{"deleted dir /empty", "renamed dir /empty from /d"}},
	{"and a new one in its place", "mv d z; mkdir d; echo n >d/n", []string{"added dir /d", "added file /d/n", "renamed dir /z from /d"}},
	{"and a file in its place", "mv d z; echo n >d", []string{"added file /d", "renamed dir /z from /d"}},
	{"swapped", "mv d t; mv other d; mv t other", []string{"renamed dir /d from /other", "renamed dir /other from /d"}},
	{"and back", "mv d z; mv z d", nil},
	{"and part of it back", "mv d z; mkdir d; mv z/sub d/sub", []string{
		"added dir /d", "renamed dir /d/sub from /d/sub", "renamed dir /z from /d"}},
	{"non-UTF-8", "mv d \"$(printf 'x\\377y')\"", []string{"renamed dir /x\xffy from /d"}},
}

func TestRealOverlay(t *testing.T) {
	for _, c := range cases {
		for _, options := range []string{"redirect_dir=off", "redirect_dir=on", "redirect_dir=on,metacopy=on"} {
			t.Run(c.name+"/"+options, func(t *testing.T) { checkOverlay(t, options, c.script, c.want) })
		}
	}
}

// TestWhatASyncPreparesIsNoChange: nor is it discarded, so that it is none of the
// cases above.
func TestWhatASyncPreparesIsNoChange(t *testing.T) {
	checkOverlay(t, "redirect_dir=off", "mkdir .forkbox-sync-b-1 d/.forkbox-sync-b-1; echo x >.forkbox-sync-b-1/1; echo x >d/.forkbox-sync-b-1/1; echo ff >f", []string{"modified file /f"})
}

func TestRenames(t *testing.T) {
	for _, c := range renames {
		t.Run(c.name, func(t *testing.T) { checkOverlay(t, "redirect_dir=on", c.script, c.want) })
	}
}

func checkOverlay(t *testing.T, options, script string, want []string) {
	f := newFixture(t)
	shell(t, f.base, baseTree)
	inOverlay(t, f, options, func(merged string) error { return run(merged, script) })
	if got := lines(changes(t, f.source())); !slices.Equal(got, want) {
		t.Errorf("%s\ngot\n\t%s\nwant\n\t%s", script, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// The same without privileges: one user, attributes named user.overlay.
func TestRootlessOverlay(t *testing.T) {
	for _, c := range cases {
		if strings.Contains(c.script, "mknod") || strings.Contains(c.script, "chown") {
			continue // refused in a user namespace
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, baseTree)
			rootless(t, f, c.script)
			src := f.source()
			src.XattrPrefix, src.IgnoreOwner = "user.overlay.", true
			if got := lines(changes(t, src)); !slices.Equal(got, c.want) {
				t.Errorf("%s\ngot\n\t%s\nwant\n\t%s", c.script, strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}
