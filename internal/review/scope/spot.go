package scope

import "strings"

// spot is a path that a change touches.
type spot struct {
	path   string
	dir    bool
	whole  bool     // all that is, or was, below it is touched too
	inHome []string // what follows the homes that it lies in
	homes  bool     // whole homes lie in it, and are touched
}

func newSpot(path, home string, dir, whole bool) spot {
	at := spot{path: path, dir: dir, whole: whole}
	for _, h := range []string{"/root", "/home/*", cleanHome(home)} {
		if h == "" {
			continue
		}
		switch rest, how := along(h, path); how {
		case within:
			at.inHome = append(at.inHome, rest)
		case above:
			at.homes = at.homes || whole
		}
	}
	return at
}

// touches says whether a spot is a place or lies below it; if all that is
// below it is touched, also whether the place is.
func (s spot) touches(place string) bool {
	rest, ok := strings.CutPrefix(place, "~")
	if !ok {
		return s.reaches(place, s.path)
	}
	for _, path := range s.inHome {
		if s.reaches(rest, path) {
			return true
		}
	}
	return s.homes
}

func (s spot) reaches(place, path string) bool {
	_, how := along(place, path)
	return how == within || how == above && s.whole
}

// relation is how a path lies to a place.
type relation int

const (
	apart  relation = iota
	within          // it is the place, or below it
	above           // the place is below it
)

// along compares a place and a path, name by name as far as both go. rest is
// what the path has below the place.
func along(place, path string) (rest string, how relation) {
	for place != "" {
		if path == "" || path == "/" {
			return "", above
		}
		var want, name string
		want, place = cutName(place)
		name, path = cutName(path)
		if begin, ok := strings.CutSuffix(want, "*"); ok {
			want, name = begin, name[:min(len(begin), len(name))]
		}
		if name != want {
			return "", apart
		}
	}
	return path, within
}

// cutName splits "/a/b" into "a" and "/b".
func cutName(path string) (name, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}
