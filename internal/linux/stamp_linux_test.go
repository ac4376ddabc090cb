package linux

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStampComesBeforeWhatFollows: nothing that is written after a stamp looks
// older than it, however close it follows.
func TestStampComesBeforeWhatFollows(t *testing.T) {
	dir := t.TempDir()
	clock, err := os.Create(filepath.Join(dir, "clock"))
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	for i := range 200 {
		stamp, err := Stamp(clock)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "file")
		if err := os.WriteFile(name, []byte{byte(i)}, 0o600); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err != nil {
			t.Fatal(err)
		}
		if written := st.Ctim.Nano(); written < stamp.UnixNano() {
			t.Fatalf("written %d ns before the stamp that preceded it", stamp.UnixNano()-written)
		}
	}
}
