//go:build !linux

package quota

import (
	"context"
)

// Find says which Holder there is for the trees below a directory, or with a
// [Missing] why there is none.
func Find(string) (Holder, error) {
	return nil, &Missing{Why: "limits on directories are known on Linux only"}
}

// Enable switches quotas on for a btrfs of our own.
func Enable(context.Context, string) (simple bool, err error) {
	return false, &Missing{Why: "btrfs is known on Linux only"}
}
