package holes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"
)

// TestCopy: the bytes are those of the content, however it comes, and what is zeros
// takes no room.
func TestCopy(t *testing.T) {
	t.Parallel()
	const much = 8 << 20
	ends := bytes.Join([][]byte{[]byte("begin"), make([]byte, much), []byte("end")}, nil)
	for name, content := range map[string][]byte{
		"nothing": nil, "little": []byte("little"), "zeros": make([]byte, much), "ends in zeros": ends[:much], "begins with them": ends[5:], "both": ends,
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := Copy(f, iotest.HalfReader(bytes.NewReader(content))); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f.Name())
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 4*block {
			t.Errorf("%s takes %d bytes", name, used)
		}
	}
}

// TestContentThatBreaksOff is an error, and a pipe gets its zeros.
func TestContentThatBreaksOff(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Copy(f, io.MultiReader(bytes.NewReader([]byte("half")), iotest.ErrReader(io.ErrUnexpectedEOF))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half of it: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := Copy(w, bytes.NewReader(make([]byte, 4096))); err != nil {
		t.Error(err)
	}
	w.Close()
	if got, err := io.ReadAll(r); len(got) != 4096 || err != nil {
		t.Errorf("a pipe got %d bytes, %v", len(got), err)
	}
}
