package landing

import (
	"os"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// What an owner may not change is found without touching anything, each of it,
// and what is below it is not told again.
func TestDeniedPathsAreAllNamed(t *testing.T) {
	nobody := forkbox.Owner{UID: 65534, GID: 65534}
	if os.Getuid() != 0 {
		nobody = forkbox.Owner{UID: os.Getuid(), GID: os.Getgid(), Name: "me", Home: "/home/me"}
	}
	dir, err := os.MkdirTemp("/var/tmp", "rights")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	for name, mode := range map[string]os.FileMode{"open": 0o777, "closed": 0o555, "changed": 0o555} {
		check(t, os.Mkdir(dir+"/"+name, mode))
		check(t, os.Chmod(dir+"/"+name, mode))
	}
	var d denied
	check(t, d.open(nobody))
	defer d.close()
	for _, c := range []struct {
		item land.Item
		want bool
	}{
		{land.Item{Op: land.Put, Path: dir + "/open/f"}, false},
		{land.Item{Op: land.Put, Path: dir + "/open/new"}, false},
		{land.Item{Op: land.Put, Path: dir + "/open/new/f"}, false}, // in what lands itself
		{land.Item{Op: land.Put, Path: dir + "/closed/d"}, true},
		{land.Item{Op: land.Put, Path: dir + "/closed/d/f"}, true},
		{land.Item{Op: land.Remove, Path: dir + "/closed/f"}, true},
		{land.Item{Op: land.Move, Path: dir + "/open/moved", From: dir + "/closed/x"}, true},
		{land.Item{Op: land.Attr, Path: dir + "/changed", Node: forkbox.Node{Mode: os.ModeDir | 0o755}}, false},
		{land.Item{Op: land.Put, Path: dir + "/changed/f"}, false},
	} {
		if got := d.has(c.item); got != c.want {
			t.Errorf("%s %s: %v", c.item.Op, c.item.Path, got)
		}
	}
	err = d.err("apply", "one")
	wantCode(t, err, forkbox.Denied)
	if d.count != 3 || len(d.items) != 3 {
		t.Errorf("%d: %v", d.count, d.items)
	}
}

func TestRootIsDeniedNothing(t *testing.T) {
	var d denied
	check(t, d.open(forkbox.Owner{}))
	defer d.close()
	if d.has(land.Item{Op: land.Put, Path: "/proc/x"}) || d.err("apply", "one") != nil {
		t.Error("it is")
	}
}
