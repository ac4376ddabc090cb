package api

import "github.com/forkbox/forkbox"

// StatsList is what several boxes use.
type StatsList struct {
	Boxes []forkbox.BoxStats `json:"boxes"`
}
