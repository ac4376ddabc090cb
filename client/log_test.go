package client

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// TestLogGoesOnInOtherPieces: the next daemon may cut a log elsewhere than the
// one before. Nothing is passed on twice, and nothing left out.
func TestLogGoesOnInOtherPieces(t *testing.T) {
	got := ""
	f := logFollower{yield: func(r forkbox.LogRecord) error {
		got += "[" + string(r.Data) + "]"
		return nil
	}}
	for _, pieces := range [][]string{{"one", "two"}, {"on", "etw", "ot", "hree"}, {}, {"onetwothree"}, {"onetwothreefour"}} {
		known := f.told
		for _, p := range pieces {
			if err := f.take(forkbox.LogRecord{Data: []byte(p)}, &known); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := "[one][two][t][hree][four]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
