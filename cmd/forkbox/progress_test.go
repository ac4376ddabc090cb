package main

import (
	"bytes"
	"io"
	"testing"
)

func TestFlowText(t *testing.T) {
	f := &flow{what: "importing x", total: 2_000_000}
	if got := f.text(); got != "importing x" {
		t.Error(got)
	}
	io.Copy(io.Discard, f.reader(bytes.NewReader(make([]byte, 1_000_000))))
	if got := f.text(); got != "importing x, 1.0 MB of 2.0 MB" {
		t.Error(got)
	}
	f.total = 0
	f.writer(io.Discard).Write(make([]byte, 500_000))
	if got := f.text(); got != "importing x, 1.5 MB" {
		t.Error(got)
	}
}
