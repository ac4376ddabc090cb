package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies directories and regular files, which is all that we have.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		switch target := filepath.Join(to, below); {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type().IsRegular():
			return copyFile(file, target)
		}
		return nil
	})
}

// copyFile copies the content of a file, and its rights with setuid.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Chmod(info.Mode()); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
