package secrets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLying: secrets of whichever user, under names that are not known
// beforehand.
func TestLying(t *testing.T) {
	root := t.TempDir()
	want := []string{"/run/user/1000", "/run/user/4711", "/tmp/.Xauth-x", "/tmp/krb5cc_1000", "/tmp/krb5cc_4711_Xa3", "/tmp/ssh-AbC", "/tmp/systemd-private-1-x", "/var/tmp/krb5cc_0"}
	for _, path := range append(slices.Clone(want), "/tmp/mine", "/tmp/my-krb5cc", "/var/tmp/ssh-x") {
		if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range lyingIn(root) {
		got = append(got, strings.TrimPrefix(e.Path, root))
		if e.Why == "" || e.Target != e.Path {
			t.Errorf("%+v", e)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := lyingIn(filepath.Join(root, "nowhere")); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}
