package snapshot

import (
	"fmt"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/storage/oci/registry"
)

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
