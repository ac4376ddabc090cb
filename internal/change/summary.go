package change

import "github.com/forkbox/forkbox"

// Summary counts changes. The zero value is ready to use.
type Summary struct {
	Kinds map[forkbox.Kind]int `json:"kinds"`
	Total int                  `json:"total"`
	// Bytes is the size of what was added or changed, Deleted of what is gone.
	Bytes   int64 `json:"bytes"`
	Deleted int64 `json:"deleted_bytes"`
	// Entries counts the paths below deleted directories, which are one
	// change each: a summary must not make them look small.
	Entries int `json:"deleted_entries"`
	// Hidden counts the changes in places whose base the box was not shown.
	Hidden int `json:"hidden,omitempty"`
}

// Add counts one change.
func (s *Summary) Add(c forkbox.Change) {
	if s.Kinds == nil {
		s.Kinds = map[forkbox.Kind]int{}
	}
	s.Kinds[c.Kind]++
	s.Total++
	s.Entries += c.Entries
	if c.Hidden {
		s.Hidden++
	}
	switch c.Kind {
	case forkbox.Deleted:
		s.Deleted += c.Size
	case forkbox.Type:
		s.Bytes += c.Size
		s.Deleted += c.OldSize
	case forkbox.Added, forkbox.Modified:
		s.Bytes += c.Size
	}
}
