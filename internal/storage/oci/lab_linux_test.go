package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

func isRoot() bool { return os.Geteuid() == 0 }

func needRoot(t testing.TB) {
	t.Helper()
	if !isRoot() {
		t.Skip("needs root: it sets owners, capabilities or mounts")
	}
}

// prefix is how overlayfs's attributes begin for who runs the test.
func prefix() string {
	if isRoot() {
		return "trusted.overlay."
	}
	return "user.overlay."
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks the code of an error and that it says something.
func wantError(t testing.TB, err error, code forkbox.Code, says string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", says)
	}
	if forkbox.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		t.Fatalf("error %q with code %s; want %s and %q", err, forkbox.CodeOf(err), code, says)
	}
}

var then = time.Unix(1700000000, 123456789)

// write makes a file with a fixed time.
func write(t testing.TB, path, content string, mode fs.FileMode) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(content), 0o600))
	check(t, os.Chmod(path, mode))
	check(t, os.Chtimes(path, then, then))
}

func mkdir(t testing.TB, path string, mode fs.FileMode) {
	t.Helper()
	check(t, os.MkdirAll(path, 0o755))
	check(t, os.Chmod(path, mode))
}

func setXattr(t testing.TB, path, name, value string) {
	t.Helper()
	check(t, unix.Lsetxattr(path, name, []byte(value), 0))
}

// whiteout marks a path as gone, and its directory as one that has such marks.
func whiteout(t testing.TB, path string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, unix.Mknod(path, unix.S_IFCHR, 0))
	setXattr(t, filepath.Dir(path), prefix()+"origin", "")
}

// describeTree says everything about a tree that should survive a journey.
func describeTree(t testing.TB, root string) []string {
	t.Helper()
	var lines []string
	names := map[uint64][]int{} // lines of files with several names
	check(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if rel == "." {
			return nil
		}
		var st unix.Stat_t
		check(t, unix.Lstat(path, &st))
		line := fmt.Sprintf("%q %o %d:%d", rel, st.Mode, st.Uid, st.Gid)
		if st.Mode&unix.S_IFMT != unix.S_IFCHR {
			line += fmt.Sprintf(" %d.%09d", st.Mtim.Sec, st.Mtim.Nsec)
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, err := os.ReadFile(path)
			check(t, err)
			line += fmt.Sprintf(" %d %x", len(data), sha256.Sum256(data))
		case unix.S_IFLNK:
			target, err := os.Readlink(path)
			check(t, err)
			line += fmt.Sprintf(" -> %q", target)
		}
		if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			names[st.Ino] = append(names[st.Ino], len(lines))
		}
		lines = append(lines, line+xattrsOf(t, path))
		return nil
	}))
	for _, same := range names {
		first, _, _ := strings.Cut(lines[same[0]], "\" ")
		for _, i := range same[1:] { // a name elsewhere does not count
			lines[i] += " = " + first
		}
	}
	return lines
}

func xattrsOf(t testing.TB, path string) (text string) {
	dir, err := os.Open(filepath.Dir(path))
	check(t, err)
	defer dir.Close()
	names, err := listXattrs(int(dir.Fd()), filepath.Base(path))
	check(t, err)
	for _, n := range names {
		value, err := xattr(int(dir.Fd()), filepath.Base(path), n)
		check(t, err)
		if n != "security.selinux" {
			text += fmt.Sprintf(" %s=%q", n, value)
		}
	}
	return text
}

func sameTree(t testing.TB, got, want string) {
	t.Helper()
	sameLines(t, describeTree(t, got), describeTree(t, want))
}

func sameLines(t testing.TB, got, want []string) {
	t.Helper()
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("too much: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("missing:  %s", line)
		}
	}
}

// packed is a tree written as a layer.
func packed(t testing.TB, trees []Tree, o Options) (Layer, Blob) {
	t.Helper()
	var buf bytes.Buffer
	blob, err := WriteLayer(context.Background(), &buf, trees, o)
	check(t, err)
	return layerOf(buf.Bytes(), blob.DiffID), blob
}

// layerOf is a layer of bytes; the digest is of what they are.
func layerOf(data []byte, diff Digest) Layer {
	return Layer{
		Descriptor: Descriptor{MediaType: MediaTypeLayer, Digest: FromBytes(data), Size: int64(len(data))},
		DiffID:     diff,
		open:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// tarOf makes an archive of headers; content is in the Uname of a file's.
func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		content := h.Uname
		h.Uname = ""
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if h.ModTime.IsZero() {
			h.ModTime = time.Unix(1700000000, 0)
		}
		check(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := io.WriteString(w, content)
			check(t, err)
		}
	}
	check(t, w.Close())
	return buf.Bytes()
}

// tarLayer is a layer of an image with an uncompressed archive.
func tarLayer(t testing.TB, headers ...tar.Header) Layer {
	data := tarOf(t, headers...)
	return layerOf(data, FromBytes(data))
}

func file(name, content string) tar.Header { return tar.Header{Name: name, Uname: content} }

func folderHeader(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}
}

func link(kind byte, name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: kind, Linkname: target}
}

// into is a place that puts everything into one directory.
func into(dir string) func(string) (string, string, error) {
	return func(path string) (string, string, error) { return dir, strings.TrimPrefix(path, "/"), nil }
}

// names lists what is below a directory.
func namesBelow(t testing.TB, dir string) []string {
	t.Helper()
	names := []string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, rel)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}
