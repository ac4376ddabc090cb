package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/storage/oci/registry"
)

// cacheDir is forkbox's place in the user's cache. No other user may look into
// it: what passes through are the user's files.
func cacheDir() (string, error) {
	const op = "make room in the cache"
	base, err := os.UserCacheDir()
	if err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, op, "%w", err).Hint("set XDG_CACHE_HOME or HOME")
	}
	dir := filepath.Join(base, "forkbox")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, op, "%w", err).Hint("set XDG_CACHE_HOME to a directory that you can write")
	}
	return dir, nil
}

// registryOptions say who we are to a registry, as docker was told.
func registryOptions(ctx context.Context, name registry.Reference, plain bool, moves *transfer) (registry.Options, error) {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "/" // without a home there are no credentials, which is allowed
		}
		dir = filepath.Join(home, ".docker")
	}
	credential, err := registry.Credentials(ctx, dir, name.Registry)
	return registry.Options{Credential: credential, PlainHTTP: plain, Progress: moves.watch}, err
}

// advisePlainHTTP knows the flag; the package knows only the registry's answer.
func advisePlainHTTP(err error) error {
	if err == nil || !strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		return err
	}
	return app.Advise(err, forkbox.Unavailable, "--plain-http", "it is: --plain-http")
}

// transfer is the blobs that go to or come from a registry, for the line of
// progress and for the sum.
type transfer struct {
	mu    sync.Mutex
	what  string
	blobs map[string]registry.Progress
	now   string // the blob that moved last
}

func newTransfer(what string) *transfer {
	return &transfer{what: what, blobs: map[string]registry.Progress{}}
}

// begin is the next part of the work.
func (t *transfer) begin(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.what, t.now = what, ""
}

func (t *transfer) watch(p registry.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = p.Blob.String()
	t.blobs[t.now] = p
}

func (t *transfer) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, moving := t.blobs[t.now]
	if !moving {
		return t.what
	}
	return fmt.Sprintf("%s %s %s, %s of %s", t.what, p.What, shortDigest(t.now), forkbox.FormatSize(p.Done), forkbox.FormatSize(p.Total))
}

// shortDigest is as much of a digest as tells blobs apart.
func shortDigest(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(12, len(hex))]
}

// traffic is the sum of a transfer.
type traffic struct {
	Blobs        int   `json:"blobs"` // that moved
	Bytes        int64 `json:"bytes"`
	SkippedBlobs int   `json:"skipped_blobs"` // that the other side had
	SkippedBytes int64 `json:"skipped_bytes"`
}

func (t *transfer) traffic() (sum traffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.blobs {
		if p.Skipped {
			sum.SkippedBlobs++
			sum.SkippedBytes += p.Total
			continue
		}
		sum.Blobs++
		sum.Bytes += p.Total
	}
	return sum
}

func (s traffic) moved() string {
	return fmt.Sprintf("%s, %s", terminal.Plural(s.Blobs, "blob"), forkbox.FormatSize(s.Bytes))
}

func (s traffic) skipped() string {
	switch s.SkippedBlobs {
	case 0:
		return "nothing of it was there"
	case 1:
		return "1 was there already"
	}
	return fmt.Sprintf("%d were there already", s.SkippedBlobs)
}
