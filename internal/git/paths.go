package git

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// chosen is what of the given paths git can commit, relative to the top.
type chosen struct {
	kept    []string // paths for git to commit; none lies in another
	fresh   []string // files that git does not know yet
	skipped []string // given, as they were given
}

// choose sorts the given paths. root is the top as the caller calls it: there
// may be a symlink on the way.
func (r Repo) choose(ctx context.Context, root string, given []string) (chosen, error) {
	var c chosen
	names := map[string][]string{} // relative path → as given
	for _, p := range given {
		if !path.IsAbs(p) || strings.ContainsRune(p, 0) {
			return c, forkbox.Errorf(forkbox.Invalid, opCommit, "%q is not an absolute path", p)
		}
		if rel, ok := relative(path.Clean(p), r.Root, root); ok {
			names[rel] = append(names[rel], p)
		} else {
			c.skipped = append(c.skipped, p)
		}
	}
	if len(names) > 0 {
		s := survey{repo: r, names: names, used: map[string]bool{}, turned: map[string]bool{}}
		if err := s.make(ctx); err != nil {
			return c, err
		}
		s.sort(&c)
	}
	slices.Sort(c.kept)
	slices.Sort(c.skipped)
	return c, nil
}

// relative is p below one of the roots. The top itself is ".".
func relative(p string, roots ...string) (string, bool) {
	for _, root := range roots {
		if !forkbox.Within(p, root) {
			continue
		}
		if rel := strings.TrimPrefix(strings.TrimPrefix(p, strings.TrimSuffix(root, "/")), "/"); rel != "" {
			return rel, true
		}
		return ".", true
	}
	return "", false
}

// above calls visit for p and every directory that it lies in, up to the top.
func above(p string, visit func(string)) {
	for visit(p); p != "."; visit(p) {
		p = path.Dir(p)
	}
}

// argsLimit keeps a command line well below what the kernel takes.
const argsLimit = 256 << 10

// untracked lists the files at or below names that git neither tracks nor
// ignores. A directory that is a repository of its own ends in a slash: it is
// left out, for git would add a link to it that no clone can resolve.
func (r Repo) untracked(ctx context.Context, names []string) ([]string, error) {
	var files []string
	for len(names) > 0 {
		n, size := 0, 0
		for n < len(names) && size < argsLimit {
			size += len(names[n]) + 16
			n++
		}
		out, err := r.read(ctx, nil, append([]string{"ls-files", "-z", "--others", "--exclude-standard", "--"}, names[:n]...)...)
		if err != nil {
			return nil, err
		}
		files, names = append(files, records(out)...), names[n:]
	}
	slices.Sort(files)
	files = slices.DeleteFunc(files, func(p string) bool { return strings.HasSuffix(p, "/") })
	return slices.Compact(files), nil
}

// pathspecs has git take each path as it is written: no wildcards, no magic.
// The variable that says so for all of git would reach the hooks as well, and
// break those that use wildcards.
func pathspecs(paths []string) []byte {
	var b bytes.Buffer
	for _, p := range paths {
		b.WriteString(":(top,literal)" + p + "\x00")
	}
	return b.Bytes()
}

func terminated(paths []string) []byte {
	return []byte(strings.Join(paths, "\x00") + "\x00")
}
