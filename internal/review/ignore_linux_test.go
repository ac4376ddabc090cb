package review

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadIgnore(t *testing.T) {
	dir := t.TempDir()
	plain, link, fifo, huge := dir+"/plain", dir+"/link", dir+"/fifo", dir+"/huge"
	os.WriteFile(plain, []byte("*.o\n"), 0o600)
	os.Symlink(plain, link)
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(huge, nil, 0o600)
	os.Truncate(huge, 1<<40)
	if got, err := ReadIgnore(plain); string(got) != "*.o\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{link, fifo, dir, dir + "/none"} {
		if got, err := ReadIgnore(name); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := ReadIgnore(fifo); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("fifo: %v", err)
	}
	if got, err := ReadIgnore(huge); len(got) > maxIgnore || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
