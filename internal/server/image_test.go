package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// large is more than any buffer on the way, and than a JSON body may have.
var large = strings.Repeat("0123456789abcdef", maxBody/16+4096)

func TestExportArrivesWhole(t *testing.T) {
	r := start(t)
	r.engine.archive = large
	var got bytes.Buffer
	if err := r.client.Export(t.Context(), "b1@s", &got); err != nil || got.String() != large || r.engine.refs[0] != "b1@s" {
		t.Errorf("%d bytes of %v: %v", got.Len(), r.engine.refs, err)
	}
}

// TestHalfAnExportIsAnError, whatever part of it has been written.
func TestHalfAnExportIsAnError(t *testing.T) {
	for _, archive := range []string{"", "x", large} {
		r := start(t)
		r.engine.archive, r.engine.failure = archive, forkbox.Errorf(forkbox.NotFound, "export", "the disk is full")
		var got bytes.Buffer
		err := r.client.Export(t.Context(), "b1", &got)
		switch {
		case err == nil:
			t.Errorf("%d bytes pass for a whole archive", got.Len())
		case archive == "" && (forkbox.CodeOf(err) != forkbox.NotFound || got.Len() > 0):
			t.Errorf("before the first byte: %v, %d bytes", err, got.Len())
		}
		if strings.Contains(r.log.String(), "panic") {
			t.Errorf("a failure is logged as a panic: %s", r.log)
		}
		if _, err := r.client.Version(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOwnErrorOfAnExport(t *testing.T) {
	r := start(t)
	r.engine.archive = large
	err := r.client.Export(t.Context(), "b1", fullDisk{})
	if err == nil || !strings.Contains(err.Error(), "no space left") || forkbox.CodeOf(err) == forkbox.Unavailable {
		t.Error(err)
	}
}

func TestImportAndBasesAreStreams(t *testing.T) {
	r := start(t)
	done, err := r.client.Import(t.Context(), strings.NewReader(large), forkbox.ImportSpec{Name: "n", Dir: "/a b", Net: forkbox.NetHost})
	if err != nil || done.Box.Name != "n" || len(done.Differences) != 1 || r.engine.received != large {
		t.Errorf("%+v %v; %d bytes", done, err, len(r.engine.received))
	}
	if want := (forkbox.ImportSpec{Name: "n", Dir: "/a b", Net: forkbox.NetHost}); r.engine.asked[0] != want {
		t.Errorf("%+v", r.engine.asked)
	}
	base, err := r.client.AddBase(t.Context(), "tar", "my root.tar", strings.NewReader("abc"))
	if err != nil || base.Kind != "tar" || base.Name != "my root.tar" || r.engine.received != "abc" {
		t.Errorf("%+v %v", base, err)
	}
}

// TestRefusedUploadSaysWhy: the reason reaches a client that is in the middle
// of sending, also when it never stops.
func TestRefusedUploadSaysWhy(t *testing.T) {
	for _, after := range []int{1, 1 << 20} {
		r := start(t)
		r.engine.refuse = after
		_, err := r.client.Import(t.Context(), endless{}, forkbox.ImportSpec{})
		if forkbox.CodeOf(err) != forkbox.Invalid || !strings.Contains(err.Error(), "digest") {
			t.Errorf("after %d bytes: %v", after, err)
		}
		if _, err := r.client.AddBase(t.Context(), "zip", "", endless{}); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("a kind that there is not: %v", err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestBrokenUpload: the engine must not take what arrived for all of it, and
// the caller hears of its own failure.
func TestBrokenUpload(t *testing.T) {
	r := start(t)
	failing := io.MultiReader(strings.NewReader(large), errorReader{errors.New("the file cannot be read")})
	_, err := r.client.Import(t.Context(), failing, forkbox.ImportSpec{})
	if err == nil || !strings.Contains(err.Error(), "the file cannot be read") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = r.client.Import(ctx, io.MultiReader(strings.NewReader(large), cancelReader(cancel), endless{}), forkbox.ImportSpec{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

type cancelReader context.CancelFunc

func (c cancelReader) Read([]byte) (int, error) { c(); return 0, io.EOF }
