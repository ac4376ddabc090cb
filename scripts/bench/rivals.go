package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// btrfs is a snapshot of a subvolume.
func (l *lab) btrfs(files int) (*measured, error) {
	of, to := l.path(fmt.Sprint("of-", files)), l.path(fmt.Sprint("to-", files))
	if err := quietly(exec.Command("btrfs", "subvolume", "create", of)); err != nil {
		return nil, err
	}
	if err := fill(of, files, "x\n"); err != nil {
		return nil, err
	}
	return &measured{
		do: func() error { return quietly(exec.Command("btrfs", "subvolume", "snapshot", of, to)) },
		after: func() error {
			return quietly(l.command(context.Background(), ".", "btrfs", "subvolume", "delete", filepath.Base(to)))
		},
	}, nil
}

func (l *lab) reflink(ctx context.Context) func(int) (*measured, error) {
	return func(files int) (*measured, error) {
		repo, err := l.repository(ctx, files)
		if err != nil {
			return nil, err
		}
		of, to := l.path(repo+"/files"), l.path("copy-of-"+repo)
		return &measured{
			do:    func() error { return quietly(exec.CommandContext(ctx, "cp", "-a", "--reflink=always", of, to)) },
			after: func() error { return os.RemoveAll(to) },
		}, nil
	}
}

// repository makes one of so many files, once.
func (l *lab) repository(ctx context.Context, files int) (string, error) {
	name := fmt.Sprint("repo-", files)
	if _, err := os.Lstat(l.path(name)); err == nil {
		return name, nil
	}
	if err := fill(l.path(name+"/files"), files, "x\n"); err != nil {
		return "", err
	}
	const script = `git init -q && git config user.name b && git config user.email b@example.org && git add . && git commit -qm base`
	return name, quietly(l.command(ctx, name, "sh", "-c", script))
}

// stash puts changes to every file aside. Before the next they are made again.
func (l *lab) stash(ctx context.Context) func(int) (*measured, error) {
	return func(files int) (*measured, error) {
		repo, err := l.repository(ctx, files)
		if err != nil {
			return nil, err
		}
		return &measured{
			before: func() error { return fill(l.path(repo+"/files"), files, "changed\n") },
			do:     func() error { return quietly(l.command(ctx, repo, "git", "stash", "-q")) },
			after:  func() error { return quietly(l.command(ctx, repo, "git", "stash", "drop", "-q")) },
		}, nil
	}
}

func (l *lab) worktree(ctx context.Context) func(int) (*measured, error) {
	return func(files int) (*measured, error) {
		repo, err := l.repository(ctx, files)
		if err != nil {
			return nil, err
		}
		tree := "../tree-of-" + repo
		return &measured{
			do:    func() error { return quietly(l.command(ctx, repo, "git", "worktree", "add", "-q", "--detach", tree)) },
			after: func() error { return quietly(l.command(ctx, repo, "git", "worktree", "remove", "--force", tree)) },
		}, nil
	}
}

// commits measures docker, if an engine answers and has an image with a shell.
func commits(ctx context.Context, r *report) {
	name := besideCase(dockerCommit, fewFiles)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if exec.CommandContext(ctx, "docker", "info").Run() != nil {
		r.Rows = append(r.Rows, row{Name: name, Note: "no engine answers"})
		return
	}
	images, _ := exec.CommandContext(ctx, "docker", "images", "-q").Output()
	image, _, _ := strings.Cut(string(images), "\n")
	script := fmt.Sprintf("for i in $(seq %d); do echo x > /tmp/$i; done; exec sleep 300", fewFiles)
	out, err := exec.CommandContext(ctx, "docker", "run", "-d", "--network", "none", image, "sh", "-c", script).Output()
	if err != nil {
		r.missing(name, fmt.Errorf("no box of image %q: %w", image, err))
		return
	}
	id := strings.TrimSpace(string(out))
	defer command("docker", "rm", "-f", id)()
	var made string
	c := &measured{name: name, quiet: settle, do: func() error {
		out, err := exec.CommandContext(ctx, "docker", "commit", id).Output()
		made = strings.TrimSpace(string(out))
		return err
	}, after: func() error { return command("docker", "rmi", made)() }}
	if err := add(r, 5, []*measured{c}); err != nil {
		r.missing(name, err)
	}
}
