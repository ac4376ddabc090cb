package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// target is a system and a processor.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// binary is what the program is called there.
func (t target) binary() string {
	if t.os == "windows" {
		return "forkbox.exe"
	}
	return "forkbox"
}

func parseTargets(list string) (targets []target, err error) {
	for name := range strings.SplitSeq(list, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok || system == "" || arch == "" {
			return nil, fmt.Errorf("%q is no target like linux/amd64", name)
		}
		targets = append(targets, target{system, arch})
	}
	return targets, nil
}

// build makes the binary of a target, once, and says where it is.
func (r *releaser) build(t target) (string, error) {
	path := filepath.Join(r.work, t.os+"-"+t.arch, t.binary())
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	args := slices.Concat([]string{"build"}, r.flags, []string{"-o", path, "./cmd/forkbox"})
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
}

// pages are what an archive has beside the binary. The manual and completions
// come from a binary that runs here; they are the same for every target.
func (r *releaser) pages() ([]file, error) {
	binary, err := r.build(target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	var pages []file
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		pages = append(pages, file{name: name, mode: 0o644, text: text})
	}
	for _, printed := range []struct {
		name string
		args []string
	}{
		{"completions/forkbox.bash", []string{"completion", "bash"}},
		{"completions/forkbox.fish", []string{"completion", "fish"}},
		{"completions/forkbox.zsh", []string{"completion", "zsh"}},
		{"man/forkbox.1", []string{"man"}},
	} {
		text, err := exec.Command(binary, printed.args...).Output()
		if err != nil {
			return nil, fmt.Errorf("forkbox %s: %w", strings.Join(printed.args, " "), err)
		}
		pages = append(pages, file{name: printed.name, mode: 0o644, text: text})
	}
	return pages, nil
}
