package forkbox_test

import (
	"io/fs"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestModeTextIsAsLsShowsIt(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{
		0o644:                                  "-rw-r--r--",
		fs.ModeDir | fs.ModeSetgid | 0o775:     "drwxrwsr-x",
		fs.ModeDir | fs.ModeSticky | 0o777:     "drwxrwxrwt",
		fs.ModeSetuid | 0o4:                    "---S---r--",
		fs.ModeSetuid | fs.ModeSetgid | 0o755:  "-rwsr-sr-x",
		fs.ModeSymlink | 0o777:                 "lrwxrwxrwx",
		fs.ModeDevice | 0o660:                  "brw-rw----",
		fs.ModeDevice | fs.ModeCharDevice | 06: "c------rw-",
		fs.ModeSticky | 0o600:                  "-rw------T",
	} {
		if got := forkbox.ModeText(mode); got != want {
			t.Errorf("%v is shown as %s, not %s", mode, got, want)
		}
	}
}
