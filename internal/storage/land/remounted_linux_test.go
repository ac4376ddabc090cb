package land

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// TestAStagingDirectoryIsKnownWhenItIsMountedAnew: on overlayfs a directory may
// have another number then. Only who says that the tree may have been mounted
// anew has it recognised by what it says of itself.
func TestAStagingDirectoryIsKnownWhenItIsMountedAnew(t *testing.T) {
	for name, remounted := range map[string]bool{"mounted anew": true, "the same": false} {
		t.Run(name, func(t *testing.T) {
			tree, dir := t.TempDir(), filepath.Join(t.TempDir(), "sync-b-1")
			root, err := os.Open(tree)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			cfg := Config{Dir: dir, Root: root, Keep: true, Remounted: remounted}
			l, err := Begin(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Stage(t.Context(), Item{Path: "/new", Op: Put, Node: forkbox.Node{Mode: 0o644}, Bytes: []byte("new")}); err != nil {
				t.Fatal(err)
			}
			l.site.close() // as if it were killed

			places := filepath.Join(dir, placesFile)
			text, err := os.ReadFile(places)
			if err != nil {
				t.Fatal(err)
			}
			text = regexp.MustCompile(`"ino":[0-9]+`).ReplaceAll(text, []byte(`"overlay":true,"ino":1`))
			if err := os.WriteFile(places, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if o, err := Recover(t.Context(), cfg); err != nil || o.State != Before {
				t.Fatal(o, err)
			}
			var st unix.Stat_t
			err = unix.Lstat(filepath.Join(tree, StagingName(dir)), &st)
			if left := err == nil; left == remounted {
				t.Errorf("it is left: %v", left)
			}
		})
	}
}
