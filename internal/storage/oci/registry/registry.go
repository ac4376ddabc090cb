// Package registry carries image layouts to and from registries.
//
//	d, err := registry.Push(ctx, dir, "registry.example/team/box:v1", registry.Options{})
//	d, err := registry.Pull(ctx, "registry.example/team/box:v1", dir, registry.Options{})
//
// What the other side has already is not sent again, what fails in passing is
// tried again, and a pull that was interrupted goes on where it stopped:
// unfinished blobs stay in the layout, named with ".part" at the end. Nothing
// is in the layout under its name that is not what its digest says.
package registry

import (
	"context"

	"github.com/forkbox/forkbox/internal/storage/oci"
)

const (
	opPush = "push the image"
	opPull = "pull the image"
)

// Options say how to talk to a registry. Every field may be zero.
type Options struct {
	Credential
	// PlainHTTP is for a registry without TLS. On this machine it is assumed.
	PlainHTTP bool
	// Want says which image: of the layout to push, or of a list to pull.
	Want oci.Want
	// Limit is how many bytes may be pulled; that of [oci.DefaultLimits] if
	// zero.
	Limit int64
	// Progress is told of every blob as it moves.
	Progress func(Progress)
}

// Progress is how far one blob is.
type Progress struct {
	Blob    oci.Digest
	What    string // "layer", "config", "manifest"
	Done    int64
	Total   int64
	Skipped bool // the other side, or the layout, had it
}

// session is one push or pull.
type session struct {
	op  string
	ref Reference
	api *client
	o   Options
}

func newSession(op, name string, o Options) (*session, error) {
	ref, err := Parse(name)
	if err != nil {
		return nil, err
	}
	actions := "pull"
	if op == opPush {
		actions = "pull,push"
	}
	return &session{op: op, ref: ref, api: newClient(ref, o.PlainHTTP, actions, o.Credential), o: o}, nil
}

func (s *session) close() { s.api.http.CloseIdleConnections() }

func (s *session) tell(d oci.Descriptor, done int64, skipped bool) {
	if s.o.Progress != nil {
		s.o.Progress(Progress{Blob: d.Digest, What: kind(d.MediaType), Done: done, Total: d.Size, Skipped: skipped})
	}
}

func kind(mediaType string) string {
	switch {
	case oci.IsManifest(mediaType) || oci.IsIndex(mediaType):
		return "manifest"
	case mediaType == oci.MediaTypeConfig || mediaType == oci.DockerConfig:
		return "config"
	}
	return "layer"
}

// unique is a list of blobs in which each is only once.
func unique(list ...oci.Descriptor) (out []oci.Descriptor) {
	seen := map[oci.Digest]bool{}
	for _, d := range list {
		if !seen[d.Digest] {
			out = append(out, d)
		}
		seen[d.Digest] = true
	}
	return out
}

// retry runs one step of the session, and again if it failed in passing.
func (s *session) retry(ctx context.Context, step func(ctx context.Context) error) error {
	return s.failure(retry(ctx, step))
}
