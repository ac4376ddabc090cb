//go:build linux

package nofile_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox/internal/nofile"
)

// TestLimitIsTheOneBefore: the soft limit is what the caller had, not what the
// runtime made of it.
func TestLimitIsTheOneBefore(t *testing.T) {
	if os.Getenv("NOFILE_TEST") != "" {
		soft, hard, ok := nofile.Limit()
		if !ok || soft != 123 || hard != 456 {
			t.Errorf("got %d, %d, %v", soft, hard, ok)
		}
		var now syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil || now.Cur == 123 {
			t.Errorf("the runtime leaves it alone now (%d, %v): this package is not needed any more", now.Cur, err)
		}
		return
	}
	cmd := exec.Command("sh", "-c", `ulimit -Sn 123; ulimit -Hn 456; exec "$0" -test.run TestLimitIsTheOneBefore`, os.Args[0])
	cmd.Env = append(os.Environ(), "NOFILE_TEST=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
