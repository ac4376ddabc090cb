package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// kitchen has one of everything that a layer can hold.
func kitchen(t testing.TB, dir string) {
	t.Helper()
	mkdir(t, dir, 0o755)
	write(t, dir+"/etc/plain", "hello", 0o640)
	write(t, dir+"/etc/new\nline: \xff\xfe", "odd name", 0o600)
	write(t, dir+"/bin/tool", "#!/bin/sh\n", 0o755)
	check(t, os.Link(dir+"/bin/tool", dir+"/bin/tool2"))
	check(t, os.Symlink("/etc/passwd", dir+"/abs"))
	check(t, os.Symlink("../gone", dir+"/etc/dangling"))
	check(t, unix.Mkfifo(dir+"/fifo", 0o620))
	mkdir(t, dir+"/tmp", 0o777|os.ModeSticky)
	write(t, dir+"/long/"+strings.Repeat("n", 255)+"/"+strings.Repeat("m", 200), "long", 0o644)
	sparse, err := os.Create(dir + "/sparse")
	check(t, err)
	_, err = sparse.WriteAt([]byte("end"), 3<<20)
	check(t, errors.Join(err, sparse.Close()))
	setXattr(t, dir+"/etc/plain", "user.note", "a\x00b\nc")
	whiteout(t, dir+"/usr/deleted")
	mkdir(t, dir+"/opaque", 0o700)
	setXattr(t, dir+"/opaque", prefix()+"opaque", "y")
	write(t, dir+"/opaque/inside", "x", 0o644)
	if isRoot() {
		kitchenOfRoot(t, dir)
	}
}

func kitchenOfRoot(t testing.TB, dir string) {
	write(t, dir+"/bin/su", "setuid", 0o755)
	check(t, os.Chown(dir+"/bin/su", 0, 42))
	check(t, os.Chmod(dir+"/bin/su", 0o755|os.ModeSetuid|os.ModeSetgid))
	write(t, dir+"/bin/ping", "cap", 0o755)
	setXattr(t, dir+"/bin/ping", capability, "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	write(t, dir+"/srv/acl", "acl", 0o640)
	// user::rw-, user:1234:rw-, group::r--, mask::rw-, other::---
	setXattr(t, dir+"/srv/acl", "system.posix_acl_access",
		"\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x06\x00\xd2\x04\x00\x00\x04\x00\x04\x00\xff\xff\xff\xff\x10\x00\x06\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff")
	check(t, os.Lchown(dir+"/abs", 3_000_000, 3_000_001)) // more than fits an old header
	setXattr(t, dir+"/etc/plain", "trusted.mine", "1")
}

func entriesOf(t testing.TB, data []byte) (headers []*tar.Header) {
	t.Helper()
	dec, err := zstd.NewReader(bytes.NewReader(data))
	check(t, err)
	defer dec.Close()
	for r := tar.NewReader(dec); ; {
		h, err := r.Next()
		if err == io.EOF {
			return headers
		}
		check(t, err)
		headers = append(headers, h)
	}
}

func archiveNames(headers []*tar.Header) (names []string) {
	for _, h := range headers {
		names = append(names, h.Name)
	}
	return names
}

func TestLayerOfSeveralFilesystems(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	write(t, root+"/etc/a", "1", 0o644)
	write(t, root+"/home/hidden", "below the mount", 0o644)
	write(t, home+"/u/b", "2", 0o644)
	whiteout(t, home+"/u/c")
	marked := home + "/marked"
	write(t, marked+"/w", "", 0o644)
	write(t, marked+"/stays", "3", 0o644)
	setXattr(t, marked, prefix()+"opaque", "x")
	setXattr(t, marked+"/w", prefix()+"whiteout", "")
	var buf bytes.Buffer
	_, err := WriteLayer(context.Background(), &buf, []Tree{{"/home", home}, {"/", root}}, Options{XattrPrefix: prefix()})
	check(t, err)
	got := archiveNames(entriesOf(t, buf.Bytes()))
	want := []string{"etc/", "etc/a", "home/", "home/marked/", "home/marked/stays", "home/marked/.wh.w", "home/u/", "home/u/b", "home/u/.wh.c"}
	if !slices.Equal(got, want) {
		t.Errorf("entries %q\n   want %q", got, want)
	}
	for _, h := range entriesOf(t, buf.Bytes()) {
		for key := range h.PAXRecords {
			if strings.Contains(key, "overlay") {
				t.Errorf("%s carries %s", h.Name, key)
			}
		}
	}
}

func TestLayerSaysOpaqueBeforeWhatIsInside(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/d/!first", "", 0o644)
	setXattr(t, dir+"/d", prefix()+"opaque", "y")
	var buf bytes.Buffer
	_, err := WriteLayer(context.Background(), &buf, []Tree{{"/", dir}}, Options{XattrPrefix: prefix()})
	check(t, err)
	if got := archiveNames(entriesOf(t, buf.Bytes())); !slices.Equal(got, []string{"d/", "d/.wh..wh..opq", "d/!first"}) {
		t.Errorf("entries %q", got)
	}
}

// The same tree, made in another order and at another time, is the same blob.
func TestLayerIsDeterministic(t *testing.T) {
	digests := map[string]bool{}
	for round := range 3 {
		dir := t.TempDir()
		for i := range 300 {
			n := (i*7 + round*131) % 300
			write(t, fmt.Sprintf("%s/d%d/f%d", dir, n%7, n), strings.Repeat(fmt.Sprint(n), n*40), 0o644)
		}
		for i := range 7 {
			check(t, os.Chtimes(fmt.Sprintf("%s/d%d", dir, i), then, then))
		}
		_, _ = os.ReadFile(dir + "/d0/f0") // another atime
		_, blob := packed(t, []Tree{{"/", dir}}, Options{XattrPrefix: prefix()})
		digests[blob.Descriptor.Digest.String()+blob.DiffID.String()] = true
	}
	if len(digests) != 1 {
		t.Errorf("%d different blobs of one tree", len(digests))
	}
}

func TestLayerLeavesOutSocketsAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", dir+"/s")
	check(t, err)
	defer l.Close()
	_, blob := packed(t, []Tree{{"/", dir}}, Options{XattrPrefix: prefix()})
	if blob.Left.Sockets != 1 {
		t.Errorf("counted %+v", blob.Left)
	}
}

func TestLayerThatCannotBeExpressed(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string)
		code forkbox.Code
		says string
	}{
		"redirect":      {func(d string) { mkdir(t, d+"/a/b", 0o755); setXattr(t, d+"/a/b", prefix()+"redirect", "/x") }, forkbox.Unsupported, `"/a/b"`},
		"whiteout name": {func(d string) { write(t, d+"/a/.wh.x", "", 0o644) }, forkbox.Unsupported, `"/a/.wh.x"`},
		"metacopy":      {func(d string) { write(t, d+"/f", "", 0o644); setXattr(t, d+"/f", prefix()+"metacopy", "") }, forkbox.Unsupported, `"/f"`},
		"equals":        {func(d string) { write(t, d+"/f", "", 0o644); setXattr(t, d+"/f", "user.a=b", "") }, forkbox.Unsupported, `"user.a=b"`},
		"missing":       {func(d string) { check(t, os.Remove(d)) }, forkbox.Internal, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			mkdir(t, dir, 0o755)
			c.make(dir)
			_, err := WriteLayer(context.Background(), io.Discard, []Tree{{"/", dir}}, Options{XattrPrefix: prefix()})
			wantError(t, err, c.code, c.says)
			if errors.Is(err, ErrRedirect) != (name == "redirect") {
				t.Errorf("errors.Is(%v, ErrRedirect)", err)
			}
		})
	}
}

func TestLayerOfAPlainDirectoryHasNoMarks(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, dir+"/d", 0o755)
	setXattr(t, dir+"/d", "user.overlay.opaque", "y")
	var buf bytes.Buffer
	_, err := WriteLayer(context.Background(), &buf, []Tree{{"/", dir}}, Options{Owner: func(int, int) (int, int) { return 7, 8 }})
	check(t, err)
	headers := entriesOf(t, buf.Bytes())
	if got := archiveNames(headers); !slices.Equal(got, []string{"d/"}) {
		t.Fatalf("entries %q", got)
	}
	if headers[0].Uid != 7 || headers[0].Gid != 8 {
		t.Errorf("owner %d:%d", headers[0].Uid, headers[0].Gid)
	}
}

func TestLayerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	write(t, dir+"/f", "x", 0o644)
	if _, err := WriteLayer(ctx, io.Discard, []Tree{{"/", dir}}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTreesThatMakeNoSense(t *testing.T) {
	for _, trees := range [][]Tree{{{"home", "/"}}, {{"/a/", "/"}}, {{"/a", "/x"}, {"/a", "/y"}}} {
		_, err := WriteLayer(context.Background(), io.Discard, trees, Options{})
		wantError(t, err, forkbox.Invalid, "cannot write the image")
	}
}
