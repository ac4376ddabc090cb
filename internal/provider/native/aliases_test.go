//go:build linux

package native

import (
	"context"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// TestWhatIsHiddenIsHiddenEverywhere: the store and secrets, where their
// filesystem is mounted a second time, or a part of them is bound elsewhere.
func TestWhatIsHiddenIsHiddenEverywhere(t *testing.T) {
	t.Parallel()
	dir := providertest.TempDir(t)
	must(t, os.Chmod(dir, 0o755))
	out, err := apart(t, "second", dir)
	if err != nil || out != "shown\n" {
		t.Errorf("%v\n%s", err, out)
	}
	must(t, os.RemoveAll(dir))
}

// secondTool has a box look for the store's key and for an SSH key through
// other mounts.
func secondTool(args []string) int {
	dir := args[0]
	_ = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err := secondMounts(dir); err != nil {
		return report(fmt.Errorf("set-up: %w", err))
	}
	p, err := openStore(dir + "/real/store")
	if err != nil {
		return report(err)
	}
	who := owner()
	who.Home = dir + "/real/home"
	box := forkbox.Box{ID: "box", Name: "box", Net: forkbox.NetNone, Owner: who}
	ctx := context.Background()
	defer p.Remove(ctx, box)
	if err := p.Prepare(ctx, box); err != nil {
		return report(err)
	}
	inst, err := p.Start(ctx, box)
	if err != nil {
		return report(err)
	}
	defer inst.Stop(ctx, 0)
	out, err := output(inst, box, "grep -rs KEY "+dir+"; cat "+dir+"/second/file")
	if err != nil {
		return report(err)
	}
	fmt.Println(out)
	return 0
}

func secondMounts(dir string) (err error) {
	step := func(e error) {
		if err == nil {
			err = e
		}
	}
	for _, d := range []string{"real/store/secrets", "real/home/.ssh", "second", "part", "ssh"} {
		step(os.MkdirAll(dir+"/"+d, 0o755))
	}
	for _, f := range []string{"real/store/secrets/key", "real/store/ledger", "real/home/.ssh/id"} {
		step(os.WriteFile(dir+"/"+f, []byte("KEY"), 0o644))
	}
	step(os.WriteFile(dir+"/real/file", []byte("shown"), 0o644))
	step(os.WriteFile(dir+"/single", nil, 0o644))
	for from, to := range map[string]string{"real": "second", "real/store/secrets": "part", "real/store/ledger": "single", "real/home/.ssh": "ssh"} {
		step(unix.Mount(dir+"/"+from, dir+"/"+to, "", unix.MS_BIND, ""))
	}
	return err
}
