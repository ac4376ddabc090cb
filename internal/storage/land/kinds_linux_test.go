package land

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/sums"
)

// openFile is a Content.
func openFile(p string) func() (*os.File, error) {
	return func() (*os.File, error) { return os.Open(p) }
}

// TestSparseFileStaysSparse: holes are not filled, and the sum is of all bytes.
func TestSparseFileStaysSparse(t *testing.T) {
	w := newWorld(t, t.TempDir())
	source := w.store + "-source"
	f, err := os.Create(source)
	w.must(err)
	defer f.Close()
	const size = 8 << 20
	w.must(f.Truncate(size))
	for _, at := range []int64{1 << 20, 5<<20 + 17} {
		_, err = f.WriteAt([]byte("data"), at)
		w.must(err)
	}
	it := w.put("/sparse", "")
	it.Bytes, it.Content = nil, openFile(source)
	l := w.begin()
	sum, err := l.Stage(t.Context(), it)
	w.must(err)
	w.must(l.Commit(t.Context()))
	want, _ := os.ReadFile(source)
	if got := w.read("/sparse"); got != string(want) {
		t.Error("the content differs")
	}
	if sum != sums.OfBytes(want) {
		t.Error("the sum is of something else")
	}
	var st unix.Stat_t
	w.must(unix.Stat(w.at("/sparse"), &st))
	if st.Size != size || st.Blocks*512 > 1<<20 {
		t.Errorf("it has %d bytes and takes %d", st.Size, st.Blocks*512)
	}
}

// TestContentOfEverySize: around the sizes of buffers, and holes at the ends.
func TestContentOfEverySize(t *testing.T) {
	w := newWorld(t, quickDir(t))
	source := w.store + "-source"
	for _, size := range []int{0, 1, 511, 512, 513, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1 << 20} {
		want := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		w.must(os.WriteFile(source, want, 0o600))
		w.must(os.Truncate(source, int64(size)+4096))
		it := w.put("/f", "")
		it.Bytes, it.Content = nil, openFile(source)
		w.must(w.land(it))
		if got := w.read("/f"); got != string(want)+strings.Repeat("\x00", 4096) {
			t.Errorf("%d bytes arrived as %d", size+4096, len(got))
		}
	}
}

func TestSocketsFifosDevices(t *testing.T) {
	w := newWorld(t, quickDir(t))
	before := w.snap()
	kinds := map[string]fs.FileMode{"/fifo": fs.ModeNamedPipe | 0o620, "/socket": fs.ModeSocket | 0o755}
	if os.Geteuid() == 0 {
		kinds["/char"] = fs.ModeDevice | fs.ModeCharDevice | 0o666
		kinds["/disk"] = fs.ModeDevice | 0o660
	}
	var items []Item
	for _, p := range []string{"/char", "/disk", "/fifo", "/socket"} {
		if mode, ok := kinds[p]; ok {
			it := w.put(p, "")
			it.Node.Mode = mode
			if mode&fs.ModeDevice != 0 {
				it.Node.Rdev = unix.Mkdev(1, 3)
			}
			items = append(items, it)
		}
	}
	w.must(w.land(items...))
	for p, mode := range kinds {
		info, err := os.Lstat(w.at(p))
		w.must(err)
		if info.Mode() != mode {
			t.Errorf("%s is %v, not %v", p, info.Mode(), mode)
		}
		if st := w.snap()[p]; mode&fs.ModeDevice != 0 && !strings.Contains(st, "rdev=259 ") {
			t.Error(st)
		}
	}
	w.must(w.undo())
	w.same("undone", before)
}

func TestDeviceIsDeniedToUsers(t *testing.T) {
	w := newWorld(t, t.TempDir())
	if os.Geteuid() == 0 {
		w.owner = &forkbox.Owner{UID: 12345, GID: 12345}
		w.must(os.Chown(w.root, 12345, 12345))
	}
	it := w.put("/dev", "")
	it.Node.Mode, it.Node.Rdev = fs.ModeDevice|0o600, unix.Mkdev(7, 0)
	before := w.snap()
	wantCode(t, w.land(it), forkbox.Denied)
	w.same("denied", before)
	w.noTrace("denied")
}

// acl is a POSIX ACL with an entry for one more user.
func acl(user uint32, mask uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, 7, user}, {4, 4, ^uint32(0)}, {16, mask, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

// TestACLs: of a file, of a new directory whose children must not inherit
// what was not theirs, and as a change of what is there.
func TestACLs(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.write("/old", "old")
	w.must(os.Chmod(w.at("/old"), 0o640))
	w.must(os.Mkdir(w.at("/inherit"), 0o755))
	if unix.Setxattr(w.at("/old"), "system.posix_acl_access", acl(7, 6), 0) != nil {
		t.Skip("no ACLs on this filesystem")
	}
	w.must(unix.Setxattr(w.root, "system.posix_acl_default", acl(8, 7), 0))
	before := w.snap()
	f := w.put("/new", "x")
	f.Node.Mode, f.Node.Xattrs = 0o670, map[string][]byte{"system.posix_acl_access": acl(9, 7)}
	d := w.putDir("/dir", 0o750)
	d.Node.Xattrs = map[string][]byte{"system.posix_acl_default": acl(9, 5)}
	attr := w.chmod("/old", 0o600)
	w.must(w.land(d, w.put("/dir/plain", "x"), f, attr))
	for p, want := range map[string]string{
		"/new": "100670 ", "/dir": "40750 ", "/dir/plain": "100644 ", "/old": "100600 ",
	} {
		got := w.snap()[p]
		if hasACL := strings.Contains(got, "posix_acl"); !strings.HasPrefix(got, want) || hasACL != (p == "/new" || p == "/dir") {
			t.Errorf("%s is %s", p, got)
		}
	}
	w.must(w.undo())
	w.same("undone", before)
}

func TestCapabilitiesAndSetuid(t *testing.T) {
	needRoot(t, "sets file capabilities")
	w := newWorld(t, t.TempDir())
	it := w.put("/ping", "x")
	it.Node.Mode, it.Node.UID, it.Node.GID = 0o755|fs.ModeSetuid|fs.ModeSetgid, 33, 33
	it.Node.Xattrs = map[string][]byte{"security.capability": {1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "user.a": []byte("b")}
	w.must(w.land(it))
	got := w.snap()["/ping"]
	if !strings.HasPrefix(got, "106755 33:33") || !strings.Contains(got, "security.capability") || !strings.Contains(got, "user.a=62") {
		t.Error(got)
	}
}

// TestUserCannotLandForeignRights: setuid for an owner that cannot be given
// goes; a capability is refused.
func TestUserCannotLandForeignRights(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.must(os.Chmod(w.root, 0o777))
	if os.Geteuid() == 0 {
		w.owner = &forkbox.Owner{UID: 12345, GID: 12345}
	}
	it := w.put("/sh", "x")
	it.Node.Mode, it.Node.UID, it.Node.GID = 0o755|fs.ModeSetuid|fs.ModeSetgid, 0, 0
	w.must(w.land(it))
	if got := w.snap()["/sh"]; !strings.HasPrefix(got, "100755 ") || strings.HasPrefix(got, "100755 0:") {
		t.Error(got)
	}
	it = w.put("/ping", "x")
	it.Node.Xattrs = map[string][]byte{"security.capability": {1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}
	before := w.snap()
	wantCode(t, w.land(it), forkbox.Denied)
	w.same("denied", before)
}

func TestEntriesTellWhatLanded(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.write("/f", "old")
	w.write("/gone", "old")
	w.must(os.Link(w.at("/gone"), w.at("/other")))
	items := []Item{w.put("/f", "new"), w.remove("/gone"), w.putLink("/l\xff\n", "tar\xffget"), w.chmod("/other", 0o600)}
	items[0].Tag = json.RawMessage(`{"kind":"modified"}`)
	w.must(w.land(items...))
	check := func(state string) {
		t.Helper()
		i := 0
		w.must(Entries(w.cfg().Dir, func(e Entry) error {
			want := items[i]
			now := w.seen(want.Path)
			if e.Path != want.Path || e.Op != want.Op || string(e.Tag) != string(want.Tag) {
				t.Errorf("%s: entry %d is %+v", state, i, e)
			}
			if (e.Now == nil) != (now == nil) || now != nil && *e.Now != *now {
				t.Errorf("%s: %q is %v, not %v", state, e.Path, e.Now, now)
			}
			i++
			return nil
		}))
		if i != len(items) {
			t.Errorf("%s: %d entries", state, i)
		}
	}
	check("landed")
	w.must(w.undo())
	check("undone")
	w.must(Expire(t.Context(), w.cfg()))
	w.must(Expire(t.Context(), w.cfg()))
	check("expired")
	wantCode(t, w.undo(), forkbox.Conflict)
	wantCode(t, Entries(w.store+"/none", nil), forkbox.NotFound)
}

// TestKeepOwner: what is replaced keeps its owner.
func TestKeepOwner(t *testing.T) {
	needRoot(t, "gives files away")
	w := newWorld(t, t.TempDir())
	w.write("/f", "old")
	w.must(os.Chown(w.at("/f"), 33, 44))
	it, add := w.put("/f", "new"), w.put("/g", "new")
	it.KeepOwner, it.Node.UID = true, 99
	add.KeepOwner, add.Node.UID = true, 99
	w.must(w.land(it, add))
	if got := w.snap()["/f"]; !strings.HasPrefix(got, "100644 33:44 ") {
		t.Error(got)
	}
	if got := w.snap()["/g"]; !strings.HasPrefix(got, "100644 0:0 ") {
		t.Error(got)
	}
}

// TestHardLinks: to what is put, to what is there, and to what cannot be
// linked to.
func TestHardLinks(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.write("/there", "there")
	w.must(os.Symlink("there", w.at("/symlink")))
	before := w.snap()
	a := w.put("/a", "both")
	a.Node.Nlink = 2
	link := func(p, to, content string) Item {
		it := w.put(p, content)
		it.Link = to
		return it
	}
	w.must(w.land(a, link("/b", "/a", "wrong"), link("/c", "/there", "wrong"), link("/d", "/symlink", "not through a symlink"), link("/e", "/none", "instead")))
	got := w.snap()
	for p, same := range map[string]string{"/b": "/a", "/there": "/c", "/d": "/d", "/e": "/e"} {
		if !strings.Contains(got[p], `same="`+same+`"`) {
			t.Errorf("%s: %s", p, got[p])
		}
	}
	if w.read("/d")+w.read("/e") != "not through a symlinkinstead" {
		t.Error(w.read("/d"), w.read("/e"))
	}
	w.must(w.undo())
	w.same("undone", before)
	it := link("/x", "/none", "")
	it.Bytes = nil
	wantCode(t, w.land(it), forkbox.Conflict)
}
