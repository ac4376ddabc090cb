package oci

// How an image says that something of the layers below is gone: an empty file
// with this before the name, or one file for all names in the directory.
const (
	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..wh..opq"
	// unionPrefix is what other names of that kind begin with: bookkeeping of
	// a union filesystem of old, that nobody acts on.
	unionPrefix = ".wh..wh."
)
