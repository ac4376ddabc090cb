package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// File is what there is to say of a path in a box.
type File struct {
	// Path is as it was asked for; in a list it is relative to what is listed.
	Path string `json:"path"`
	// PathBytes is the path where that is not UTF-8, and Path an approximation.
	PathBytes []byte    `json:"path_bytes,omitempty"`
	Type      string    `json:"type"` // file, directory, symlink, fifo, socket, device, unknown
	Mode      string    `json:"mode"` // as chmod takes it: "0644"
	Size      int64     `json:"size"`
	UID       int       `json:"uid"`
	GID       int       `json:"gid"`
	Modified  time.Time `json:"modified"`
	Target    string    `json:"target,omitempty"` // of a symlink
	// Tag changes whenever the file is written or replaced. It is the ETag of its
	// content, and what If-Match takes.
	Tag string `json:"tag,omitempty"`
}

// FileList is a page of a directory, sorted. Next is the cursor of the rest.
type FileList struct {
	Files []File `json:"files"`
	Next  string `json:"next,omitempty"`
}

// FileChange is a line of what changes below a watched path.
type FileChange struct {
	// Kind is watching (the first line: what is changed from now on is told), created,
	// changed, removed, or overflow: more was changed than could be told, and
	// whoever watches has to look again.
	Kind      string         `json:"kind,omitempty"`
	Path      string         `json:"path,omitempty"` // relative to what is watched; nothing is itself
	PathBytes []byte         `json:"path_bytes,omitempty"`
	Error     *forkbox.Error `json:"error,omitempty"` // at the end: what went wrong
}

// Watching is the kind of the first line.
const Watching = "watching"

// TarResult is what became of an archive. Of an archive that is read it comes in the trailer
// [SkippedTrailer].
type TarResult struct {
	// Left is how many paths were left out, and Skipped the first of them.
	Left    int           `json:"left"`
	Skipped []SkippedPath `json:"skipped,omitempty"`
}

// SkippedPath is a path that no archive can have, or that could not be read or made.
type SkippedPath struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	// Harmless says that it is nothing that a copy would miss: a socket.
	Harmless bool `json:"harmless,omitempty"`
}

// SkippedTrailer is the trailer of an archive: a [TarResult] in base64. It is
// there only if something was left out.
const SkippedTrailer = "Forkbox-Skipped"

// TarType is the media type of an archive of files.
const TarType = "application/x-tar"
