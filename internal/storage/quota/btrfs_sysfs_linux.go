package quota

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// read is one number of a subvolume's quota group.
func (b *btrfs) read(id uint64, name string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(b.groups, fmt.Sprintf("0_%d", id), name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrUncounted
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// text is something about all quota groups; "" where this kernel does not say.
func (b *btrfs) text(name string) string {
	text, _ := os.ReadFile(filepath.Join(b.groups, name))
	return strings.TrimSpace(string(text))
}

func (b *btrfs) number(name string) int64 {
	n, _ := strconv.ParseInt(b.text(name), 10, 64)
	return n
}

// countAll has full quota groups never lose count: by default the kernel
// gives up, and with it the limits, when a big snapshot is dropped.
func (b *btrfs) countAll() {
	if !b.simple {
		const deepest = "8" // no tree is deeper
		_ = os.WriteFile(filepath.Join(b.groups, "drop_subtree_threshold"), []byte(deepest), 0)
	}
}
