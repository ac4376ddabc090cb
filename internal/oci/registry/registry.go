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
	"net"
	"net/http"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/forkbox/forkbox/internal/oci"
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
	Blob    digest.Digest
	What    string // "layer", "config", "manifest"
	Done    int64
	Total   int64
	Skipped bool // the other side, or the layout, had it
}

// session is one push or pull.
type session struct {
	op   string
	ref  Reference
	repo *remote.Repository
	o    Options
}

func newSession(op, name string, o Options) (*session, error) {
	ref, err := Parse(name)
	if err != nil {
		return nil, err
	}
	repo, err := remote.NewRepository(ref.Registry + "/" + ref.Repository)
	if err != nil {
		return nil, invalid(name, err.Error())
	}
	repo.PlainHTTP = o.PlainHTTP || ref.local()
	repo.Client = &auth.Client{
		Client:     &http.Client{Transport: transport()},
		Cache:      auth.NewCache(),
		Header:     http.Header{"User-Agent": {"forkbox"}},
		Credential: auth.StaticCredential(repo.Reference.Host(), o.Credential.forAuth()),
	}
	return &session{op: op, ref: ref, repo: repo, o: o}, nil
}

// transport bounds every wait but that for content, which [watch] does.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.ResponseHeaderTimeout = 5 * time.Minute // a registry may sum up a large blob first
	return t
}

func (s *session) close() { s.repo.Client.(*auth.Client).Client.CloseIdleConnections() }

func (s *session) tell(d ocispec.Descriptor, done int64, skipped bool) {
	if s.o.Progress != nil {
		s.o.Progress(Progress{Blob: d.Digest, What: kind(d.MediaType), Done: done, Total: d.Size, Skipped: skipped})
	}
}

func kind(mediaType string) string {
	switch {
	case oci.IsManifest(mediaType) || oci.IsIndex(mediaType):
		return "manifest"
	case mediaType == ocispec.MediaTypeImageConfig || mediaType == dockerConfig:
		return "config"
	}
	return "layer"
}

const dockerConfig = "application/vnd.docker.container.image.v1+json"

// unique is a list of blobs in which each is only once.
func unique(list ...ocispec.Descriptor) (out []ocispec.Descriptor) {
	seen := map[digest.Digest]bool{}
	for _, d := range list {
		if !seen[d.Digest] {
			out = append(out, d)
		}
		seen[d.Digest] = true
	}
	return out
}

// retried runs one step of the session, and again if it failed in passing.
func (s *session) retried(ctx context.Context, step func(ctx context.Context) error) error {
	return s.failure(retry(ctx, step))
}
