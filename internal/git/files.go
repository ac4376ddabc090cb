package git

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Modes as git writes them.
const (
	plainFile  = "100644"
	executable = "100755"
	symlink    = "120000"
	submodule  = "160000"
)

// treeEntry is what a commit has at a path.
type treeEntry struct {
	mode, id string
	size     int64 // of a blob
	path     string
}

// files adds the files that are not, as far as lstat can tell, what HEAD has,
// or that changed at or after the fence. Git compares whole seconds and looks
// at the content where that is not enough: at today's content, which may have
// changed and changed back.
func (s *scanner) files(ctx context.Context) error {
	out, err := s.repo.read(ctx, nil, "ls-tree", "-r", "-l", "-z", "--full-tree", s.head)
	if err != nil {
		return err
	}
	entries := records(out)
	return s.repo.As(func() error {
		for i, line := range entries {
			if i%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if e, ok := parseTreeEntry(line); !ok || !s.dirty[e.path] && !s.asCommitted(e) {
				s.dirty[e.path] = true
			}
		}
		return nil
	})
}

func (s *scanner) asCommitted(e treeEntry) bool {
	info, err := os.Lstat(filepath.Join(s.repo.Root, e.path))
	if err != nil || info.Size() != e.size || !Settled(changeTime(info), s.fence) {
		return false
	}
	switch e.mode {
	case plainFile:
		return info.Mode().IsRegular() && info.Mode()&0o100 == 0
	case executable:
		return info.Mode().IsRegular() && info.Mode()&0o100 != 0
	case symlink:
		return info.Mode().Type() == fs.ModeSymlink
	}
	return false
}

// parseTreeEntry reads "MODE TYPE ID SIZE<tab>PATH" of ls-tree -l. The size of
// what is not a blob is "-".
func parseTreeEntry(line string) (treeEntry, bool) {
	head, path, found := strings.Cut(line, "\t")
	f := strings.Fields(head)
	if !found || len(f) != 4 {
		return treeEntry{path: path}, false
	}
	size, err := strconv.ParseInt(f[3], 10, 64)
	return treeEntry{mode: f[0], id: f[2], size: size, path: path}, err == nil && f[1] == "blob"
}
