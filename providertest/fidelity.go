package providertest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// fidelityStories: a box's changes are told as they are, whatever they are.
var fidelityStories = []story{
	{name: "Owner", run: ownerChange},
	{name: "Xattr", run: xattrChange},
	{name: "ACL", run: aclChange},
	{name: "HardLink", run: hardLink},
	{name: "OpaqueDirectory", run: changed("rm -r tree && mkdir tree && echo n >tree/n", map[string]string{
		"/tree/a": "deleted file", "/tree/b": "deleted file", "/tree/n": "added file"})},
	{name: "RenamedDirectory", run: renamedDirectory},
	{name: "Sparse", run: sparse},
	{name: "Fifo", run: changed("mkfifo p && chmod 600 p", map[string]string{"/p": "added fifo"})},
	{name: "Symlink", run: changed("ln -s nowhere s && rm file && ln -s tree file", map[string]string{
		"/s": "added symlink", "/file": "type symlink"})},
	{name: "NotUTF8", run: changed(`touch "$(printf 'x\377\ny')" 'a b:c,d'`, map[string]string{
		"/x\xff\ny": "added file", "/a b:c,d": "added file"})},
	{name: "EmptyDirectory", run: changed("mkdir empty", map[string]string{"/empty": "added dir"})},
	{name: "PutBackAsItWas", run: changed("cp -p file /tmp/k$$ && echo x >file && cat /tmp/k$$ >file && rm /tmp/k$$ && chmod 600 tree/a && chmod 644 tree/a", nil)},
	{name: "Mode", run: changed("chmod 4755 file", map[string]string{"/file": "mode file (mode)"})},
	{name: "Sides", run: sidesOfAChange},
}

// told lists what is told of the changes below dir, in words.
func (l *Lab) told(box forkbox.Box, dir string) map[string]string {
	l.t.Helper()
	found := map[string]string{}
	err := l.Provider.Changes(context.Background(), box, func(c forkbox.Change, _ forkbox.Sides) error {
		name, ok := strings.CutPrefix(c.Path, dir+"/")
		if !ok {
			return nil
		}
		words := fmt.Sprintf("%s %s", c.Kind, c.Type)
		if c.Link != "" {
			words += " = " + strings.TrimPrefix(c.Link, dir)
		}
		if c.From != "" {
			words += " from " + strings.TrimPrefix(c.From, dir)
		}
		if len(c.Attrs) > 0 {
			words += " (" + strings.Join(c.Attrs, " ") + ")"
		}
		found["/"+name] = words
		return nil
	})
	if err != nil {
		l.t.Fatalf("changes: %v", err)
	}
	return found
}

// someTree is what every story starts from.
func someTree(t *testing.T) string {
	return Tree(t, map[string]string{"file": "content\n", "other": "content\n", "tree/a": "a", "tree/b": "b"})
}

// changed is the story of a script and the changes it makes.
func changed(script string, want map[string]string) func(*testing.T, *Lab) {
	return func(t *testing.T, l *Lab) {
		dir := someTree(t)
		r := l.Start(l.Box())
		r.Sh("umask 022; cd " + dir + " && " + script)
		l.expect(t, r.Box, dir, want)
	}
}

func (l *Lab) expect(t *testing.T, box forkbox.Box, dir string, want map[string]string) {
	t.Helper()
	if got := l.told(box, dir); !maps.Equal(got, want) {
		t.Errorf("changes %q\nwant %q", got, want)
	}
}

func ownerChange(t *testing.T, l *Lab) {
	if !l.Traits.OtherUsers {
		return // its boxes have one user
	}
	changed("chown 12:34 file && chown 12 tree", map[string]string{
		"/file": "mode file (owner)", "/tree": "mode dir (owner)"})(t, l)
}

func xattrChange(t *testing.T, l *Lab) {
	dir := someTree(t)
	r := l.Start(l.Box())
	r.setXattr(dir+"/file", "user.test", []byte("\x00value\xff"))
	r.setXattr(dir+"/tree", "user.test", nil)
	l.expect(t, r.Box, dir, map[string]string{"/file": "mode file (xattr)", "/tree": "mode dir (xattr)"})
}

// aclChange: an ACL that leaves the permission bits as they are.
func aclChange(t *testing.T, l *Lab) {
	dir := someTree(t)
	r := l.Start(l.Box())
	everybody := []byte{0xff, 0xff, 0xff, 0xff}
	uid := r.Box.Owner.UID
	acl := []byte{2, 0, 0, 0}
	acl = append(append(acl, 0x01, 0, 6, 0), everybody...)                                  // the owner
	acl = append(acl, 0x02, 0, 4, 0, byte(uid), byte(uid>>8), byte(uid>>16), byte(uid>>24)) // one user
	acl = append(append(acl, 0x04, 0, 4, 0), everybody...)                                  // the group
	acl = append(append(acl, 0x10, 0, 4, 0), everybody...)                                  // the mask
	acl = append(append(acl, 0x20, 0, 4, 0), everybody...)                                  // others
	r.setXattr(dir+"/file", "system.posix_acl_access", acl)
	l.expect(t, r.Box, dir, map[string]string{"/file": "mode file (xattr)"})
}

func (r *Running) setXattr(path, name string, value []byte) {
	r.lab.t.Helper()
	res := r.Run(forkbox.ExecSpec{Argv: Tool("setxattr", path, name, hex.EncodeToString(value))}, nil)
	if res.Exit.Code != 0 {
		r.lab.t.Fatalf("cannot set %s: %s", name, res.Stderr)
	}
}

func hardLink(t *testing.T, l *Lab) {
	changed("ln file link && ln other another && echo x >n && ln n o", map[string]string{
		"/link": "added file = /file", "/another": "added file", "/other": "linked file = /another",
		"/n": "added file", "/o": "added file = /n"})(t, l)
}

// renamedDirectory: as one change where the provider can tell, else as what
// went and what came.
func renamedDirectory(t *testing.T, l *Lab) {
	dir := someTree(t)
	r := l.Start(l.Box())
	r.Sh("cd " + dir + " && mv tree wood")
	got := l.told(r.Box, dir)
	whole := map[string]string{"/wood": "renamed dir from /tree"}
	parts := map[string]string{"/tree": "deleted dir", "/wood": "added dir", "/wood/a": "added file", "/wood/b": "added file"}
	if !maps.Equal(got, whole) && !maps.Equal(got, parts) {
		t.Errorf("changes %q", got)
	}
}

// sparse: a file with a hole in reality, one byte written into it.
func sparse(t *testing.T, l *Lab) {
	dir := someTree(t)
	if err := os.Truncate(dir+"/file", 1<<30); err != nil {
		t.Fatal(err)
	}
	r := l.Start(l.Box())
	r.Sh("cd " + dir + " && truncate -s 1G new && printf x | dd of=file bs=1 seek=900000000 conv=notrunc 2>/dev/null")
	l.expect(t, r.Box, dir, map[string]string{"/file": "modified file", "/new": "added file"})
}

// sidesOfAChange: both sides can be looked at and read while a change is told.
func sidesOfAChange(t *testing.T, l *Lab) {
	dir := someTree(t)
	r := l.Start(l.Box())
	r.Sh("cd " + dir + " && echo new >file && rm other && echo x >added && rm -r tree")
	seen := map[string]string{}
	err := l.Provider.Changes(context.Background(), r.Box, func(c forkbox.Change, s forkbox.Sides) error {
		if name, ok := strings.CutPrefix(c.Path, dir); ok {
			seen[name] = glance(s.Old, s.OpenOld) + " -> " + glance(s.New, s.OpenNew)
			_ = s.Below(func(path string, n forkbox.Node, kept bool) error {
				seen[strings.TrimPrefix(path, dir)] = fmt.Sprintf("below %d %v", n.Size, kept)
				return nil
			})
		}
		return nil
	})
	want := map[string]string{"/file": `"content\n" -> "new\n"`, "/other": `"content\n" -> nothing`, "/added": `nothing -> "x\n"`,
		"/tree": "dir -> nothing", "/tree/a": "below 1 false", "/tree/b": "below 1 false"}
	if err != nil || !maps.Equal(seen, want) {
		t.Errorf("saw %q, %v", seen, err)
	}
}

// glance is one side of a change, in short.
func glance(look func() (forkbox.Node, error), open func() (*os.File, error)) string {
	n, err := look()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "nothing"
	case err != nil:
		return err.Error()
	case n.Mode.IsDir():
		return "dir"
	}
	f, err := open()
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%q", data)
}
