package scope

import "path"

// Root finds the workspace of a box made in dir: the git work tree that dir
// lies in, which is the nearest directory upwards with something named .git in
// it, else dir itself. It is "" for "/": a box made there has no workspace.
// "/" is never a work tree either, or all of the machine would be workspace.
func Root(dir string, exists func(path string) bool) string {
	dir = path.Clean(dir)
	if !path.IsAbs(dir) || dir == "/" {
		return ""
	}
	for at := dir; at != "/"; at = path.Dir(at) {
		if exists(at + "/.git") {
			return at
		}
	}
	return dir
}
