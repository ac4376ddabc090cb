package forkbox

import (
	"encoding/json"
	"strings"
)

// Staleness says why a box was forked from a reality that is no more: another
// box landed a path that it changed as well, or won the race that both were in.
// `forkbox sync` brings it up to date.
type Staleness struct {
	Receipt string `json:"receipt"`       // of that landing; an undo of it takes the mark back
	Box     string `json:"box,omitempty"` // the name of the box that landed
	// Path is what it landed and the stale box changed as well; empty where
	// that is not what counts, or not known.
	Path string `json:"path,omitempty"`
	// Lost says that the box landed instead of this one: gc goes by it.
	Lost bool `json:"lost,omitempty"`
}

// UnmarshalJSON also reads what records had before there was this type: the name
// of the box that won a race, or a sentence with the box and the path. A text
// that is neither says only that the box is stale: gc must not take it for lost.
func (s *Staleness) UnmarshalJSON(text []byte) error {
	if len(text) == 0 || text[0] != '"' {
		type plain Staleness
		return json.Unmarshal(text, (*plain)(s))
	}
	var words string
	if err := json.Unmarshal(text, &words); err != nil {
		return err
	}
	rest, sentence := strings.CutPrefix(words, "box ")
	name, landed, _ := strings.Cut(rest, " landed ")
	path, whole := strings.CutSuffix(landed, ", which this one changed as well")
	switch {
	case sentence && whole:
		*s = Staleness{Box: name, Path: path}
	case !strings.Contains(words, " "):
		*s = Staleness{Box: words, Lost: true}
	default:
		*s = Staleness{}
	}
	return nil
}
