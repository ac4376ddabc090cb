package git

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// maxBlob is more than is ever merged, and what a reply may take of memory.
const maxBlob = 64 << 20

// Blob is the content of a file in a commit, byte for byte as git would check
// it out; path is relative to the work tree. Of the mode, git keeps the type
// and whether the file is executable; the rest is the usual 0644 or 0755.
// What the commit does not have as a file or symlink is fs.ErrNotExist.
//
// A path whose bytes git alters on checkout (line ends, $Id$, an encoding, a
// filter such as LFS) is [ErrUnknown]: whether a file was written by a
// checkout, or by its author and altered on the way in, cannot be told, so
// neither can its bytes. No filter is ever run to find out.
func (r Repo) Blob(ctx context.Context, commit, path string) (content []byte, mode fs.FileMode, err error) {
	const op = "read a file of a commit"
	if err := checkCommit(op, commit); err != nil {
		return nil, 0, err
	}
	if err := checkPath(op, path); err != nil {
		return nil, 0, err
	}
	content, mode, err = r.blob(ctx, commit, path)
	if err != nil && unlessRefused(err) == nil {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return content, mode, err
}

func (r Repo) blob(ctx context.Context, commit, path string) ([]byte, fs.FileMode, error) {
	entry, err := r.treeEntry(ctx, commit, path)
	if err != nil {
		return nil, 0, err
	}
	content, err := r.read(ctx, nil, "cat-file", "blob", entry.id)
	if err != nil {
		return nil, 0, err
	}
	switch entry.mode {
	case symlink:
		return content, fs.ModeSymlink | 0o777, nil
	case executable:
		return content, 0o755, r.checkUnaltered(ctx, entry, content)
	}
	return content, 0o644, r.checkUnaltered(ctx, entry, content)
}

// treeEntry finds path in a commit. ls-tree takes a path for a pattern's
// beginning: only the very path counts.
func (r Repo) treeEntry(ctx context.Context, commit, path string) (treeEntry, error) {
	out, err := r.read(ctx, nil, "ls-tree", "-l", "-z", "--full-tree", commit, "--", path)
	if err != nil {
		return treeEntry{}, err
	}
	for _, line := range records(out) {
		e, ok := parseTreeEntry(line)
		switch {
		case e.path != path:
			continue
		case e.mode == submodule || ok && e.size > maxBlob:
			return e, ErrUnknown
		case ok:
			return e, nil
		}
	}
	return treeEntry{}, fs.ErrNotExist
}

// checkUnaltered says that a checkout writes the blob as it is. Where a filter or an
// encoding is named that is not even tried: the one runs a program of the
// user's, which may go to the network, the other is not always reversible.
func (r Repo) checkUnaltered(ctx context.Context, e treeEntry, content []byte) error {
	out, err := r.read(ctx, []byte(e.path+"\x00"), "check-attr", "-z", "--stdin", "filter", "working-tree-encoding")
	if err != nil {
		return err
	}
	attrs := records(out)
	if len(attrs) != 6 {
		return ErrUnknown
	}
	for _, value := range []string{attrs[2], attrs[5]} {
		if value != "unspecified" && value != "unset" {
			return ErrUnknown
		}
	}
	written, err := r.read(ctx, nil, "cat-file", "--filters", "--path="+e.path, e.id)
	if err == nil && !bytes.Equal(written, content) {
		err = ErrUnknown
	}
	return err
}

// Since lists the tracked paths whose content or mode in the work tree differs
// from what a commit has, sorted. A file that was only touched is compared by
// content; the index is not written to. Submodules are left out.
func (r Repo) Since(ctx context.Context, commit string) ([]string, error) {
	const op = "compare the work tree"
	if err := checkCommit(op, commit); err != nil {
		return nil, err
	}
	out, err := r.read(ctx, nil, "diff-index", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=all", commit, "--")
	if err != nil {
		if unlessRefused(err) == nil {
			err = forkbox.Errorf(forkbox.Invalid, op, "%w", err)
		}
		return nil, err
	}
	var paths []string
	for _, line := range records(out) { // "PLUS<tab>MINUS<tab>PATH"
		if f := strings.SplitN(line, "\t", 3); len(f) == 3 {
			paths = append(paths, f[2])
		}
	}
	return paths, nil
}

// Object is the content of the blob of an index entry, byte for byte as the file
// was that the entry is about. Where git may have altered the bytes on their way
// it is [ErrUnknown], see [Repo.Blob], and so it is when the blob is gone.
func (r Repo) Object(ctx context.Context, e IndexEntry) (content []byte, mode fs.FileMode, err error) {
	if e.Size > maxBlob {
		return nil, 0, ErrUnknown
	}
	content, err = r.read(ctx, nil, "cat-file", "blob", e.ID())
	if err == nil && len(content) != int(e.Size) {
		err = ErrUnknown
	}
	if err == nil {
		err = r.checkUnaltered(ctx, treeEntry{id: e.ID(), path: e.Path}, content)
	}
	if err != nil && unlessRefused(err) == nil {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if e.Mode&0o100 != 0 {
		return content, 0o755, err
	}
	return content, 0o644, err
}

// Tracked is every path of a commit, relative to the work tree.
func (r Repo) Tracked(ctx context.Context, commit string) (map[string]bool, error) {
	const op = "list a commit"
	if err := checkCommit(op, commit); err != nil {
		return nil, err
	}
	out, err := r.read(ctx, nil, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
	if err != nil {
		return nil, unlessRefused(err)
	}
	paths := map[string]bool{}
	for _, path := range records(out) {
		paths[path] = true
	}
	return paths, nil
}

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
