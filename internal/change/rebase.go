package change

// Redirect is what a directory of an upper is to say about where it comes
// from: a path from the root of its filesystem, or nothing.
type Redirect struct {
	Mount string `json:"mount"`
	Path  []byte `json:"path"` // in the upper
	To    []byte `json:"to,omitempty"`
}
