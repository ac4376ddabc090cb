//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestMetricsOfADaemon: what gates decide, what gc does and what users take is
// counted where it happens.
func TestMetricsOfADaemon(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.has(`forkbox_gate_decisions_total{decision="denied"} 0`, "forkbox_gc_runs_total 0")
	if strings.Contains(w.metrics(), "forkbox_disk_bytes{") {
		t.Error("something was measured for a scraper")
	}
	w.must("new", "--name", "tries", "--net", "policy", "--net-preset", "locked")
	w.must("exec", "tries", "--", "bash", "-c", "! : 2>/dev/null >/dev/tcp/192.0.2.1/80; echo x > made")
	w.must("stop", "tries")
	w.has(`forkbox_gate_decisions_total{decision="allowed"} 0`)
	if strings.Contains(w.metrics(), `forkbox_gate_decisions_total{decision="denied"} 0`) {
		t.Error("what was refused is not counted")
	}
	_, err := w.Usage(w.Context())
	w.ok(err)
	w.has("\nforkbox_disk_measured_timestamp_seconds ", fmt.Sprintf("\nforkbox_disk_bytes{uid=\"%d\"} ", os.Geteuid()))
	_, err = w.GC(w.Context(), forkbox.GCSpec{IdleFor: 1, Unreviewed: true, DryRun: true})
	w.ok(err)
	w.has("forkbox_gc_runs_total 0")
	_, err = w.GC(w.Context(), forkbox.GCSpec{IdleFor: 1, Unreviewed: true})
	w.ok(err)
	w.has("forkbox_gc_runs_total 1", "forkbox_gc_removed_boxes_total 1")
	if strings.Contains(w.metrics(), "forkbox_gc_freed_bytes_total 0\n") {
		t.Error("what gc freed is not counted")
	}
}

// has finds words in what a scraper reads.
func (w *served) has(words ...string) {
	w.Helper()
	text := w.metrics()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.Errorf("it does not say %q:\n%s", word, text)
		}
	}
}
