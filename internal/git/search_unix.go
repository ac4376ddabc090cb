//go:build unix

package git

import (
	"os"
	"syscall"
)

// trusts says whether a directory is root's, or of the user for whom git runs,
// and not writable for all.
func (r Repo) trusts(dir string) bool {
	st, err := os.Stat(dir)
	if err != nil || !st.IsDir() || st.Mode()&0o002 != 0 {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && (sys.Uid == 0 || int(sys.Uid) == r.Owner.UID)
}
