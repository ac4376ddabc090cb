package git

import "context"

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
