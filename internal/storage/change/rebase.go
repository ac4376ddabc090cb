package change

// Redirect is what a directory of a layer is to say about where it comes from:
// a path from the root of its filesystem, or nothing.
type Redirect struct {
	Mount string `json:"mount"`
	// Layer is the layer's directory, as in [Upper]; empty for what the box
	// itself writes to.
	Layer string `json:"layer,omitempty"`
	Path  []byte `json:"path"` // in the layer
	To    []byte `json:"to,omitempty"`
}
