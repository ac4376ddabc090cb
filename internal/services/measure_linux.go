package services

import (
	"context"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/forkbox/forkbox"
)

// mostCounted bounds what is walked to tell a size.
const mostCounted = 200_000

// measure counts what is at a path. What cannot be read is left out.
func measure(ctx context.Context, path string) forkbox.ServiceData {
	d := forkbox.ServiceData{Path: path}
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if ctx.Err() != nil || d.Files == mostCounted {
			d.Counting = true
			return filepath.SkipAll
		}
		if info, err := e.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				d.Bytes += st.Blocks * 512
			}
			if !e.IsDir() {
				d.Files++
			}
		}
		return nil
	})
	return d
}
