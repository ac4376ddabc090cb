package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// lab is a filesystem of our own in a file. It is mounted in a mount namespace
// that only one process holds, and that ends when we do: however we end, no
// mount and no loop device stays, and no box that is started meanwhile sees it.
type lab struct {
	dir    string // the image and where it is mounted
	holder *exec.Cmd
	hold   io.Closer
}

const labSize = 4 << 30 // sparse

// newLab makes one with mkfs, say "mkfs.xfs -q".
func newLab(ctx context.Context, mkfs ...string) (*lab, error) {
	dir, err := os.MkdirTemp("", "fbtest-lab-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir}
	image := filepath.Join(dir, "image")
	if err = os.WriteFile(image, nil, 0o600); err == nil {
		err = os.Truncate(image, labSize)
	}
	if err == nil {
		err = quietly(exec.CommandContext(ctx, mkfs[0], append(mkfs[1:], image)...))
	}
	if err == nil {
		err = l.mount(image)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) mount(image string) error {
	const script = `mount -o loop "$1" "$2" && echo mounted && exec cat`
	at := filepath.Join(l.dir, "mounted")
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	l.holder = exec.Command("unshare", "--mount", "sh", "-c", script, "sh", image, at)
	var said strings.Builder
	l.holder.Stderr = &said
	hold, err := l.holder.StdinPipe()
	if err != nil {
		return err
	}
	out, err := l.holder.StdoutPipe()
	if err != nil {
		return err
	}
	l.hold = hold
	if err := l.holder.Start(); err != nil {
		l.holder = nil
		return err
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		l.close()
		return fmt.Errorf("cannot mount a filesystem: %s", strings.TrimSpace(said.String()))
	}
	return nil
}

// path is how a process outside reaches a file in it.
func (l *lab) path(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", l.holder.Process.Pid), l.dir, "mounted", name)
}

// command runs in a directory of it, for programs that want to know where
// they are.
func (l *lab) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	ns := fmt.Sprintf("--mount=/proc/%d/ns/mnt", l.holder.Process.Pid)
	wd := filepath.Join(l.dir, "mounted", dir)
	return exec.CommandContext(ctx, "nsenter", append([]string{ns, "--", "env", "-C", wd, name}, args...)...)
}

func (l *lab) close() {
	if l.holder != nil {
		l.hold.Close()
		_ = l.holder.Wait()
		l.holder = nil
	}
	_ = os.RemoveAll(l.dir)
}

// quietly runs a command whose output is only wanted when it fails.
func quietly(cmd *exec.Cmd) error {
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(string(out)))
	}
	return nil
}
