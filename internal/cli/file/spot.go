package file

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/forkbox/forkbox/internal/cli/app"
)

// spot is one end of a copy: BOX:PATH, a path here, or the stream "-".
type spot struct {
	box  string // empty is here
	path string
}

// parseSpot tells BOX:PATH from a path here, which can have a colon if there is
// something before it that no box has in its name: ./a:b.
func parseSpot(arg string) spot {
	box, rest, ok := strings.Cut(arg, ":")
	if !ok || box == "" || strings.Trim(box, app.BoxLetters) != "" || runtime.GOOS == "windows" && len(box) == 1 {
		return spot{path: arg}
	}
	if rest == "" {
		rest = "."
	}
	return spot{box: box, path: rest}
}

func (s spot) String() string {
	if s.box == "" {
		return s.path
	}
	return s.box + ":" + s.path
}

// isStream says whether it is stdin or stdout.
func (s spot) isStream() bool { return s.box == "" && s.path == "-" }

// base is the name that a copy into a directory gets.
func (s spot) base() string {
	if s.box == "" {
		if whole, err := filepath.Abs(s.path); err == nil {
			return filepath.Base(whole)
		}
		return filepath.Base(s.path)
	}
	return path.Base(path.Clean(s.path))
}

// wantsInside says whether the contents are meant, and not the directory: DIR/.
func (s spot) wantsInside() bool {
	slashed := s.path
	if s.box == "" {
		slashed = filepath.ToSlash(slashed)
	}
	return slashed == "." || strings.HasSuffix(slashed, "/.")
}

// wantsDir says whether it has to be a directory: it ends with a slash.
func (s spot) wantsDir() bool {
	return strings.HasSuffix(s.path, "/") || s.box == "" && strings.HasSuffix(s.path, string(filepath.Separator)) || s.wantsInside()
}

// in is a name in the directory that this is.
func (s spot) in(name string) spot {
	if s.box == "" {
		return spot{path: filepath.Join(s.path, name)}
	}
	return spot{s.box, strings.TrimSuffix(s.path, "/") + "/" + name}
}
