package daemon

import (
	"os"
	"testing"

	"github.com/forkbox/forkbox/internal/storage/layers"
)

// TestLogsAreTrimmed: what root in a box wrote to its log past the limit goes,
// and the log of another exec, or box, stays as it is.
func TestLogsAreTrimmed(t *testing.T) {
	store, err := layers.Open(t.TempDir() + "/h[o]me*") // nothing in its name is a pattern
	if err != nil {
		t.Fatal(err)
	}
	logs := keptLogs{store}
	const limit, long = 1 << 20, 6 << 20
	sizes := map[[2]string]int64{{"one", "1"}: long, {"one", "2"}: limit, {"one", "12"}: long, {"two", "1"}: long}
	for of, size := range sizes {
		if err := os.MkdirAll(store.Dir(of[0]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(store.Log(of[0], of[1]), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(store.Log(of[0], of[1]), size); err != nil {
			t.Fatal(err)
		}
	}
	if cut, err := logs.Trim("one", limit); cut != 2 || err != nil {
		t.Errorf("%d logs were cut, error %v", cut, err)
	}
	for of, size := range sizes {
		if of[0] == "one" {
			size = limit
		}
		if info, err := os.Stat(store.Log(of[0], of[1])); err != nil || info.Size() != size {
			t.Errorf("log %s of box %s: %v %v, not %d bytes", of[1], of[0], info, err, size)
		}
	}
	if last, _ := logs.Kept("one"); last != 12 {
		t.Errorf("the last exec is %d", last)
	}
	if cut, err := logs.Trim("none", limit); cut != 0 || err != nil {
		t.Errorf("of a box that is not there %d were cut, error %v", cut, err)
	}
}
