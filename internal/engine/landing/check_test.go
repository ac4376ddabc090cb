package landing

import (
	"errors"
	"testing"

	"github.com/forkbox/forkbox"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code forkbox.Code) {
	t.Helper()
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got error %v, want one with code %s", err, code)
	}
}
