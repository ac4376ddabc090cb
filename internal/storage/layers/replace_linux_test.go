package layers

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestReplace(t *testing.T) {
	s, err := Open(t.TempDir())
	must(t, err)
	for _, id := range []string{"spare", "fresh", "used"} {
		must(t, s.Create(t.Context(), id))
	}
	must(t, os.WriteFile(s.Log("spare", "1"), []byte("of the spare"), 0o600))
	must(t, os.WriteFile(s.Log("used", "1"), []byte("its own"), 0o600))
	if err := s.Replace("spare", "used"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("what has something was replaced: %v", err)
	}
	if raw, _ := os.ReadFile(s.Log("used", "1")); string(raw) != "its own" {
		t.Errorf("its log is %q now", raw)
	}
	must(t, s.Replace("spare", "fresh"))
	if raw, _ := os.ReadFile(s.Log("fresh", "1")); string(raw) != "of the spare" {
		t.Errorf("it has %q", raw)
	}
	if exists(s.Dir("spare")) {
		t.Error("the spare is still there")
	}
	if err := s.Replace("fresh", "removed"); forkbox.CodeOf(err) != forkbox.NotFound || !exists(s.Dir("fresh")) {
		t.Errorf("what is not there was replaced: %v", err)
	}
	if s.Replace("../fresh", "used") == nil || s.Replace("fresh", "") == nil {
		t.Error("a path is no id")
	}
}
