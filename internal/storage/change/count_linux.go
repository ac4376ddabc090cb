package change

// toll is what a deletion took with it.
type toll struct {
	entries int
	bytes   int64
}

// count measures what the base has at e and below: the cost of it is bounded
// by what was deleted. It does not enter other mounts, which the box did not
// delete, nor tell of what the box was not shown.
func (w *walker) count(e *entry) (toll, error) {
	t := toll{bytes: e.base.bytes()}
	if !e.base.isDir() {
		return t, nil
	}
	return t, w.descend(e, func(l *lower) error {
		if l.skipped {
			return nil
		}
		t.entries++
		if !l.hidden {
			t.bytes += l.file.bytes()
		}
		return nil
	})
}
