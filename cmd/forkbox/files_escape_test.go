//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// swapper swaps d for a directory of its own, for a symlink to a directory of the
// host that boxes do not see, and for one to a directory of reality.
const swapper = `mkdir -p own && echo box > own/f && echo ready
while :; do
	cp -r own d && rm -rf d; ln -s "$1" d && rm d; ln -s "$2" d && rm d
done`

// TestPromise8FilesStayInTheBox: whatever a path of a box is swapped for while the
// API follows it, nothing of the host comes out and nothing in reality is touched.
func TestPromise8FilesStayInTheBox(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	const secret = "the host's alone"
	hidden, real := filepath.Join(w.home, "canary"), filepath.Join(w.root, "canary")
	for dir, text := range map[string]string{hidden: secret, real: "reality, which a box sees"} {
		w.ok(os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
		w.ok(os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644))
	}
	w.create("b", "")
	before := w.picture(hidden) + w.picture(real)
	exec, err := w.ExecDetached(t.Context(), "b", shell(swapper, hidden, real))
	w.ok(err)
	w.until("the box swaps", func() bool { return w.logged(exec) > 0 })
	thief := &thief{limitWorld: w, files: w.Files("b"), secret: secret, hidden: hidden, done: map[string]int{}}
	for range hold(40, 2000) {
		thief.tryAll()
	}
	t.Logf("what was done while the paths were swapped: %v", thief.done)
	for _, op := range []string{"write", "list", "tar out"} {
		if thief.done[op] == 0 {
			t.Errorf("%s never succeeded, so that it shows nothing", op)
		}
	}
	if after := w.picture(hidden) + w.picture(real); after != before {
		t.Errorf("the host was\n%s\nand is\n%s", before, after)
	}
}

// picture is all there is to see of a directory of the host.
func (w *limitWorld) picture(dir string) string {
	w.Helper()
	var b strings.Builder
	w.ok(filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, info.Mode(), info.ModTime().UnixNano(), info.Size())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		}
		return nil
	}))
	return b.String()
}

// thief tries to reach the host through the files of a box.
type thief struct {
	*limitWorld
	files          client.Files
	secret, hidden string
	done           map[string]int
}

func (s *thief) tryAll() {
	ctx := s.Context()
	s.try("read", s.read(ctx, "d/f"))
	_, err := s.files.Write(ctx, "d/f", strings.NewReader("new"), client.WriteOptions{Parents: true})
	s.try("write", err)
	_, err = s.files.Mkdir(ctx, "d/made/deep", "", true)
	s.try("mkdir", err)
	_, err = s.files.Move(ctx, "own/f", "d/f", true)
	s.try("move in", err)
	_, err = s.files.Move(ctx, "d/f", "own/f", true)
	s.try("move out", err)
	s.try("remove", s.files.Remove(ctx, "d/made", true))
	s.try("list", s.files.List(ctx, "d", 3, func(api.File) error { return nil }))
	_, err = s.files.TarIn(ctx, "d", bytes.NewReader(anArchive()), client.TarOptions{})
	s.try("tar in", err)
	var out bytes.Buffer
	_, err = s.files.TarOut(ctx, "d", &out)
	s.look("tar out", out.Bytes())
	s.try("tar out", err)
	if err := s.read(ctx, filepath.Join(s.hidden, "f")); err == nil {
		s.Error("the box sees the store")
	}
}

// try counts what is done. What the swapping spoils is not the daemon's fault.
func (s *thief) try(op string, err error) {
	if err == nil {
		s.done[op]++
	} else if forkbox.CodeOf(err) == forkbox.Internal {
		s.Errorf("%s: %v", op, err)
	}
}

func (s *thief) look(op string, got []byte) {
	if bytes.Contains(got, []byte(s.secret)) {
		s.Errorf("%s: what boxes do not see came out of one", op)
	}
}

func (s *thief) read(ctx context.Context, path string) error {
	content, err := s.files.Read(ctx, path, client.Span{})
	if err != nil {
		return err
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	s.look("read "+path, text)
	return err
}

func anArchive() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"f", "sub/f", "new"} {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: 3, Typeflag: tar.TypeReg})
		_, _ = io.WriteString(w, "new")
	}
	_ = w.Close()
	return b.Bytes()
}

// tarHeader is the beginning of an archive.
func tarHeader(name string, size int64) []byte {
	var b bytes.Buffer
	_ = tar.NewWriter(&b).WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, Typeflag: tar.TypeReg})
	return b.Bytes()
}
