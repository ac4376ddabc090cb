package api

import "github.com/forkbox/forkbox"

// TemplateList is a list of templates.
type TemplateList struct {
	Templates []forkbox.Template `json:"templates"`
	Next      string             `json:"next,omitempty"` // the cursor of the rest
}

// WarmRequest says how many boxes of a template are kept ready. Count has to be
// there: a request without one does not mean none.
type WarmRequest struct {
	Count *int `json:"count"`
}
