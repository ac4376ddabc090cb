package agent

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
)

func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = "from the archive"
		}
		h.Mode, h.Size = 0o644, int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func (w *world) unpack(raw []byte) (boxfiles.Outcome, error) {
	return boxfiles.Send(w.ctx, w.dial(w.TB), "unpack", w.request(boxfiles.OpTarIn, "in"), bytes.NewReader(raw))
}

// TestPromise8AnArchiveStaysInItsDirectory, whatever names and links it has.
func TestPromise8AnArchiveStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	for name, entries := range map[string][]tar.Header{
		"a name with dots":       {file("../out")},
		"dots in the middle":     {file("a/../../out")},
		"an absolute name":       {file("/OUT")},
		"a symlink to above":     {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: ".."}, file("l/out")},
		"a symlink to the root":  {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "DIR"}, file("l/out")},
		"a magic link":           {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/proc/self/cwd"}, file("l/out")},
		"a directory by symlink": {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: ".."}, {Typeflag: tar.TypeDir, Name: "l/out/"}},
		"a hard link to above":   {{Typeflag: tar.TypeLink, Name: "h", Linkname: "../secret"}},
		"a hard link by symlink": {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: ".."}, {Typeflag: tar.TypeLink, Name: "h", Linkname: "l/secret"}},
	} {
		w := newWorld(t)
		w.write("secret", "old")
		for i := range entries {
			entries[i].Name = strings.ReplaceAll(entries[i].Name, "/OUT", w.path("out"))
			entries[i].Linkname = strings.ReplaceAll(entries[i].Linkname, "DIR", w.dir)
		}
		_, err := w.unpack(archive(t, entries...))
		if forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		beside, _ := filepath.Glob(w.path("*"))
		if len(beside) != 2 || w.read("secret") != "old" { // in, and the secret
			t.Errorf("%s: there is %q", name, beside)
		}
		if _, err := os.Lstat(w.path("in/h")); err == nil {
			t.Errorf("%s: it has the secret", name)
		}
	}
}

// TestDevicesOfAnArchiveAreLeftOut, and said.
func TestDevicesOfAnArchiveAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, err := w.unpack(archive(t, tar.Header{Typeflag: tar.TypeBlock, Name: "disk", Devmajor: 8}, tar.Header{Typeflag: tar.TypeReg, Name: "f"}))
	if err != nil || out.Count != 1 || w.read("in/f") != "from the archive" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := os.Lstat(w.path("in/disk")); err == nil {
		t.Error("there is a device")
	}
}

// TestArchiveAndBack keeps modes, links, holes and odd names.
func TestArchiveAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("from/a/f", "1")
	w.write("from/n\xff\n", strings.Repeat("x", 200_000))
	if err := os.Link(w.path("from/a/f"), w.path("from/hard")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere", w.path("from/soft")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path("from/a"), 0o500); err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if _, err := boxfiles.TarOut(w.ctx, w.dial(t), "pack", w.request(boxfiles.OpTarOut, "from"), &raw); err != nil {
		t.Fatal(err)
	}
	if _, err := w.unpack(raw.Bytes()); err != nil {
		t.Fatal(err)
	}
	one, err := os.Stat(w.path("in/a/f"))
	two, err2 := os.Stat(w.path("in/hard"))
	if err != nil || err2 != nil || !os.SameFile(one, two) {
		t.Errorf("the hard link is none: %v, %v", err, err2)
	}
	if link, _ := os.Readlink(w.path("in/soft")); link != "/nowhere" {
		t.Errorf("the symlink leads to %q", link)
	}
	if st, err := os.Stat(w.path("in/a")); err != nil || st.Mode().Perm() != 0o500 {
		t.Errorf("%v, %v", st, err)
	}
	if w.read("in/n\xff\n") != strings.Repeat("x", 200_000) || len(w.leftovers()) > 0 {
		t.Errorf("left: %q", w.leftovers())
	}
	for _, dir := range []string{"from/a", "in/a"} { // so that it can be removed
		_ = os.Chmod(w.path(dir), 0o700)
	}
}

// FuzzTarIn: whatever is sent as an archive, nothing beside its directory is touched.
func FuzzTarIn(f *testing.F) {
	f.Add(archive(f, tar.Header{Typeflag: tar.TypeReg, Name: "a/b"}))
	f.Add(archive(f, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: ".."}, tar.Header{Typeflag: tar.TypeReg, Name: "l/out"}))
	f.Add(archive(f, tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "../secret"}))
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w := newWorld(t)
		w.write("secret", "old")
		if err := os.Mkdir(w.path("in"), 0o755); err != nil {
			t.Fatal(err)
		}
		x := &extractor{}
		_ = x.run(bytes.NewReader(raw), w.path("in"))
		beside, _ := filepath.Glob(w.path("*"))
		if len(beside) != 2 || w.read("secret") != "old" {
			t.Errorf("there is %q", beside)
		}
	})
}
