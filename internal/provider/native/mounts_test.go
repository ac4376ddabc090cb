//go:build linux

package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// TestMountsMadeLaterAreSeen: a box has what was mounted after its provider was
// opened, and not what was unmounted.
func TestMountsMadeLaterAreSeen(t *testing.T) { mountsApart(t, "late") }

// TestStartsBesideMountsThatComeAndGo: what vanishes while a box is built, to be
// run or only to be looked at, is left out, or the box is built again.
func TestStartsBesideMountsThatComeAndGo(t *testing.T) { mountsApart(t, "busy") }

// TestBoxSaysWhatItHoldsOfTheHost: a filesystem that was unmounted under a
// running box is named, also by the next daemon, and also when another one is
// mounted in its place; one that is still there is not.
func TestBoxSaysWhatItHoldsOfTheHost(t *testing.T) { mountsApart(t, "held") }

// mountsApart runs a part of mountsTool in a mount namespace of its own.
func mountsApart(t *testing.T, what string) {
	t.Parallel()
	dir := providertest.TempDir(t)
	if out, err := apart(t, "mounts", dir, what); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	must(t, os.RemoveAll(dir))
}

func mountsTool(args []string) int {
	dir, what := args[0], args[1]
	_ = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	p, err := openStore(filepath.Join(dir, "store"))
	if err != nil {
		return report(err)
	}
	defer p.Close()
	do := map[string]func(*Provider, string) error{"late": mountLater, "busy": startBesideMounts, "held": holdUnmounted}[what]
	if err := do(p, filepath.Join(dir, what)); err != nil {
		return report(err)
	}
	return 0
}

func mountLater(p *Provider, at string) error {
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	for n := range 10 {
		seen := filepath.Join(at, "seen")
		if err := unix.Mount("fbtest", at, "tmpfs", 0, "mode=0755"); err != nil {
			return err
		}
		if err := os.WriteFile(seen, nil, 0o644); err != nil {
			return err
		}
		if err := inBox(p, fmt.Sprint("with", n), "test -e "+seen+" && echo yes", "yes"); err != nil {
			return err
		}
		if err := unix.Unmount(at, 0); err != nil {
			return err
		}
		if err := inBox(p, fmt.Sprint("without", n), "test -e "+seen+" || echo no", "no"); err != nil {
			return err
		}
	}
	return nil
}

func startBesideMounts(p *Provider, at string) error {
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- comeAndGo(at, stop) }()
	for n := range 100 {
		if err := inBox(p, fmt.Sprint("box", n), "echo fine", "fine"); err != nil {
			return err
		}
		root, done, err := p.Look(context.Background(), forkbox.Box{Net: forkbox.NetNone, Owner: owner()})
		if err != nil {
			return fmt.Errorf("look %d: %w", n, err)
		}
		_, err = root.Stat()
		done()
		if err != nil {
			return err
		}
	}
	close(stop)
	return <-ended
}

func holdUnmounted(p *Provider, at string) error {
	ctx := context.Background()
	goes, stays := filepath.Join(at, "goes"), filepath.Join(at, "stays")
	for _, dir := range []string{goes, stays} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("fbtest", dir, "tmpfs", 0, "mode=0755"); err != nil {
			return err
		}
	}
	box := forkbox.Box{ID: "holds", Name: "holds", Net: forkbox.NetNone, Owner: owner()}
	if err := p.Prepare(ctx, box); err != nil {
		return err
	}
	defer p.Remove(ctx, box)
	inst, err := p.Start(ctx, box)
	if err != nil {
		return err
	}
	defer inst.Stop(ctx, 0)
	holds := func(inst forkbox.Instance, when, want string) error {
		points, err := inst.(interface{ Unmounted() ([]string, error) }).Unmounted()
		if got := fmt.Sprint(points); err != nil || got != want {
			return fmt.Errorf("%s it holds %s, want %s, error %v", when, got, want, err)
		}
		return nil
	}
	if err := holds(inst, "at first", "[]"); err != nil {
		return err
	}
	if err := unix.Unmount(goes, 0); err != nil {
		return err
	}
	if err := holds(inst, "unmounted,", "["+goes+"]"); err != nil {
		return err
	}
	// Another one in its place, as a rule under the same number.
	if err := unix.Mount("fbtest", goes, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	again, err := p.Attach(ctx, box)
	if err != nil {
		return err
	}
	return holds(again, "for the next daemon", "["+goes+"]")
}

// comeAndGo mounts and unmounts, and makes and removes what it mounts on.
func comeAndGo(at string, stop <-chan struct{}) error {
	for {
		for n := range 3 {
			if err := os.MkdirAll(filepath.Join(at, fmt.Sprint(n)), 0o755); err != nil {
				return err
			}
			if err := unix.Mount("fbtest", filepath.Join(at, fmt.Sprint(n)), "tmpfs", 0, "mode=0755"); err != nil {
				return err
			}
		}
		for n := range 3 {
			if err := unix.Unmount(filepath.Join(at, fmt.Sprint(n)), unix.MNT_DETACH); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(at); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// inBox starts a box, has a script say something in it, and removes it.
func inBox(p *Provider, id, script, want string) (err error) {
	ctx := context.Background()
	box := forkbox.Box{ID: id, Name: id, Net: forkbox.NetNone, Owner: owner()}
	if err := p.Prepare(ctx, box); err != nil {
		return err
	}
	defer p.Remove(ctx, box)
	inst, err := p.Start(ctx, box)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	defer inst.Stop(ctx, 0)
	if got, err := output(inst, box, script); err != nil || got != want {
		return fmt.Errorf("%s says %q, want %q, error %v", id, got, want, err)
	}
	return nil
}
