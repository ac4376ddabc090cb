//go:build linux

package native

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// apart runs a tool in a mount namespace of its own, where it may mount.
func apart(t *testing.T, tool string, args ...string) (string, error) {
	t.Helper()
	argv := providertest.Tool(tool, args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if !root {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestSocketsAndPipesOfTheHost: however they come into what a box sees, it
// reaches none of them.
func TestSocketsAndPipesOfTheHost(t *testing.T) {
	t.Parallel()
	dir := providertest.TempDir(t)
	must(t, os.Chmod(dir, 0o755))
	out, err := apart(t, "doors", dir)
	want := "file: shown\nlooked: shown\n"
	if err != nil || out != want {
		t.Errorf("%v\n%swant\n%s", err, out, want)
	}
	must(t, os.RemoveAll(dir))
}

// doorsTool makes sockets and pipes that a process is at, mounts them in all the
// ways there are, and has a box try them.
func doorsTool(args []string) int {
	dir := args[0]
	_ = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	paths, err := doors(dir)
	if err != nil {
		return report(fmt.Errorf("set-up: %w", err))
	}
	p, err := openStore(dir + "/store")
	if err != nil {
		return report(err)
	}
	box := forkbox.Box{ID: "box", Name: "box", Net: forkbox.NetNone, Owner: owner()}
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
	knock := strings.Join(providertest.Tool("knock", paths...), " ")
	out, err := output(inst, box, knock+"; cat "+dir+"/file "+dir+"/ro/looked")
	if err != nil {
		return report(err)
	}
	fmt.Println(out)
	return 0
}

// doors is where there are sockets and pipes. The test's own process is behind
// them until it ends.
func doors(dir string) (paths []string, err error) {
	step := func(e error) {
		if err == nil {
			err = e
		}
	}
	real := dir + "/real"
	for _, d := range []string{"real", "ro", "rw", "bound", "bound-ro"} {
		step(os.Mkdir(dir+"/"+d, 0o755))
	}
	step(unix.Mount("fbtest", dir+"/ro", "tmpfs", 0, "mode=0755"))
	step(unix.Mount("fbtest", dir+"/rw", "tmpfs", 0, "mode=0755"))
	for _, d := range []string{real, dir + "/ro", dir + "/rw"} {
		_, lerr := net.Listen("unix", d+"/sock")
		step(lerr)
		step(unix.Mkfifo(d+"/pipe", 0o666))
		_, oerr := unix.Open(d+"/pipe", unix.O_RDWR, 0)
		step(oerr)
		paths = append(paths, d+"/sock", d+"/pipe")
	}
	for name, content := range map[string]string{"sock": "", "pipe": "", "file": "", "real/file": "file: shown\n", "ro/looked": "looked: shown\n"} {
		step(os.WriteFile(dir+"/"+name, []byte(content), 0o644))
	}
	for _, b := range []struct {
		from, to string
		readOnly bool
	}{
		{real, dir + "/bound", false}, {real, dir + "/bound-ro", true}, {dir + "/ro", dir + "/ro", true},
		{real + "/sock", dir + "/sock", false}, {real + "/pipe", dir + "/pipe", true}, {real + "/file", dir + "/file", true},
	} {
		step(unix.Mount(b.from, b.to, "", unix.MS_BIND, ""))
		if b.readOnly {
			step(unix.Mount("", b.to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		}
	}
	return append(paths, dir+"/sock", dir+"/pipe", dir+"/bound/sock", dir+"/bound/pipe", dir+"/bound-ro/sock", dir+"/bound-ro/pipe"), err
}

// knockTool says which of some sockets and pipes have a process behind them.
func knockTool(paths []string) int {
	for _, path := range paths {
		if connectTool([]string{path}) == 0 {
			fmt.Println("connected to", path)
		}
		st, err := os.Lstat(path)
		if err == nil && st.Mode()&os.ModeNamedPipe != 0 && openFor(unix.O_WRONLY|unix.O_NONBLOCK, path) == nil {
			fmt.Println("somebody reads from", path)
		}
	}
	return 0
}
