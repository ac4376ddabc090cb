//go:build linux

package native

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// TestPromise5FailClosed: what cannot be enforced is an error, never less
// than was asked for.
func TestPromise5FailClosed(t *testing.T) {
	t.Parallel()
	t.Run("UnknownNetwork", unknownNetwork)
	t.Run("SecretOnAReadOnlyFilesystem", func(t *testing.T) { secretInMount(t, "ro") })
	t.Run("SecretOnAnotherFilesystem", func(t *testing.T) { secretInMount(t, "rw") })
	t.Run("SecretIsAMount", func(t *testing.T) { secretInMount(t, "is") })
	t.Run("StoreBehindASymlink", storeBehindASymlink)
}

func unknownNetwork(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	for _, net := range []forkbox.Net{"", "bridge", "NONE"} {
		box := l.Box(func(b *forkbox.Box) { b.Net = net })
		inst, err := p.Start(context.Background(), box)
		if err == nil {
			_ = inst.Stop(context.Background(), 0)
			t.Errorf("a box with network %q started", net)
			continue
		}
		if code := forkbox.CodeOf(err); code != forkbox.Unsupported && code != forkbox.Invalid {
			t.Errorf("network %q: %v (%v)", net, err, code)
		}
	}
}

// secretInMount: a home on a filesystem of its own, which as such is not
// overlaid when it is read-only. Its secrets are hidden, or the box does not
// start. It takes a mount, so it runs in a mount namespace of its own.
func secretInMount(t *testing.T, how string) {
	t.Parallel()
	dir := providertest.TempDir(t)
	out, err := apart(t, "visible", dir, how)
	if err != nil || !strings.Contains(out, "hidden") {
		t.Errorf("%v: %s", err, out)
	}
	must(t, os.RemoveAll(dir))
}

// visibleTool starts a box whose owner's home is a mount and looks for the
// secret in it. It says hidden, or what it saw.
func visibleTool(args []string) int {
	dir, how := args[0], args[1]
	home := dir + "/home"
	if err := homeMount(home, how); err != nil {
		return report(fmt.Errorf("set-up: %w", err))
	}
	p, err := openStore(dir + "/store")
	if err != nil {
		return report(err)
	}
	who := owner()
	who.Home = home
	box := forkbox.Box{ID: "box", Name: "box", Net: forkbox.NetNone, Owner: who}
	ctx := context.Background()
	defer p.Remove(ctx, box)
	if err := p.Prepare(ctx, box); err != nil {
		return report(err)
	}
	inst, err := p.Start(ctx, box)
	if err != nil {
		fmt.Println("hidden: it did not start:", err)
		return 0
	}
	defer inst.Stop(ctx, 0)
	out, err := output(inst, box, "cat "+home+"/.ssh/key 2>/dev/null || echo hidden")
	if err != nil {
		return report(err)
	}
	fmt.Println(out)
	return 0
}

func homeMount(home, how string) error {
	mountAt := home
	if how == "is" {
		mountAt = home + "/.ssh"
	}
	if err := os.MkdirAll(mountAt, 0o755); err != nil {
		return err
	}
	_ = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err := unix.Mount("fbtest", mountAt, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	if err := os.MkdirAll(home+"/.ssh", 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(home+"/.ssh/key", []byte("SECRET\n"), 0o600); err != nil {
		return err
	}
	if how == "ro" {
		return unix.Mount("", mountAt, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	return nil
}

// output runs a script in a box without a lab.
func output(inst forkbox.Instance, box forkbox.Box, script string) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	done := make(chan struct{})
	seen := func(id string, _ forkbox.Exit, _ forkbox.Output) {
		if id == "look" {
			close(done)
		}
	}
	if _, err := inst.Watch(seen); err != nil {
		return "", err
	}
	spec := forkbox.ExecSpec{Argv: []string{"/bin/sh", "-c", script}, Dir: "/"}
	if err := inst.Exec(context.Background(), "look", spec, box.Owner, forkbox.Stdio{Out: w}, nil, 0); err != nil {
		return "", err
	}
	<-done
	buf := make([]byte, 4096)
	n, _ := r.Read(buf)
	return strings.TrimSpace(string(buf[:n])), nil
}

// storeBehindASymlink: FORKBOX_HOME may be one, as people with small disks
// have it. What it leads to is the store.
func storeBehindASymlink(t *testing.T) {
	t.Parallel()
	dir := providertest.TempDir(t)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(dir+"/real", 0o700))
	must(t, os.Symlink(dir+"/real", dir+"/link"))
	p, err := openStore(dir + "/link")
	must(t, err)
	l := providertest.NewLab(t, fixtureOf(t, p))
	box := l.Box()
	if inst, err := p.Start(context.Background(), box); err == nil {
		got, err := output(inst, box, "ls "+dir+" "+dir+"/real")
		_ = inst.Stop(context.Background(), 0)
		if strings.Contains(got, "boxes") || err != nil {
			t.Errorf("the box sees the store: %q, %v", got, err)
		}
	}
}
