package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// furnish fills root with what a small system has.
func furnish(ctx context.Context, root string) error {
	for _, dir := range []string{"dev", "proc", "sys", "run", "root", "tmp", "home", "var/tmp", "etc", "vm",
		"usr/bin", "usr/sbin", "usr/lib", "usr/lib64"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+dir, filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	if err := writeEtc(root); err != nil {
		return err
	}
	programs, err := programsOf(ctx, packages)
	if err != nil {
		return err
	}
	return copyPrograms(ctx, root, programs)
}

func writeEtc(root string) error {
	user := fmt.Sprintf("%s:x:%d:%d", plan.User, plan.UserID, plan.UserID)
	for name, content := range map[string]string{
		"passwd":        "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n" + user + "::/home/" + plan.User + ":/bin/bash\n",
		"group":         fmt.Sprintf("root:x:0:\ntty:x:5:\nnogroup:x:65534:\n%s:x:%d:\n", plan.User, plan.UserID),
		"hosts":         "127.0.0.1 localhost vm\n",
		"hostname":      "vm\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
		"mke2fs.conf":   "",
	} {
		if name == "mke2fs.conf" { // without it mkfs.ext4 makes an ext2
			own, err := os.ReadFile("/etc/mke2fs.conf")
			if err != nil {
				return err
			}
			content = string(own)
		}
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// programsOf lists the files that packages keep where programs are.
func programsOf(ctx context.Context, packages []string) (files []string, err error) {
	listed, err := output(ctx, "dpkg-query", append([]string{"-L"}, packages...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot copy programs into the machine: %w", err)
	}
	for _, file := range strings.Split(listed, "\n") {
		dir := filepath.Base(filepath.Dir(file))
		if dir != "bin" && dir != "sbin" {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	// What the administrator chose between packages: awk.
	return append(files, "/usr/bin/awk"), nil
}
