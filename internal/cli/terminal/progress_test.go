package terminal

import (
	"bytes"
	"io"
	"testing"
)

func TestFlowText(t *testing.T) {
	f := &Flow{What: "importing x", Total: 2_000_000}
	if got := f.Text(); got != "importing x" {
		t.Error(got)
	}
	io.Copy(io.Discard, f.Reader(bytes.NewReader(make([]byte, 1_000_000))))
	if got := f.Text(); got != "importing x, 1.0 MB of 2.0 MB" {
		t.Error(got)
	}
	f.Total = 0
	f.Writer(io.Discard).Write(make([]byte, 500_000))
	if got := f.Text(); got != "importing x, 1.5 MB" {
		t.Error(got)
	}
}
