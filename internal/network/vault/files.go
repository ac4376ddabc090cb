package vault

import (
	"os"
	"path/filepath"
	"strings"
)

// unfinished is what a file is called while it is written: no secret's name
// begins so, and nothing else writes while the lock is held.
func unfinished(dir, name string) string { return filepath.Join(dir, "."+name+".new") }

// write puts a file in place, whole or not at all, also across a power cut.
func write(vault, dir, name string, content []byte) error {
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := syncDir(vault); err != nil {
			return err
		}
	} else if !os.IsExist(err) {
		return err
	}
	draft := unfinished(dir, name)
	if err := writeDraft(draft, content); err != nil {
		_ = os.Remove(draft)
		return err
	}
	hook("written")
	if err := os.Rename(draft, filepath.Join(dir, name)); err != nil {
		_ = os.Remove(draft)
		return err
	}
	hook("renamed")
	return syncDir(dir)
}

func writeDraft(draft string, content []byte) error {
	if err := os.Remove(draft); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func remove(dir, name string) error {
	for _, file := range []string{unfinished(dir, name), filepath.Join(dir, name)} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if err := syncDir(dir); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// sweep removes what a crash left unfinished. It is called with the lock held,
// so it is not being written.
func sweep(dir string) {
	for _, pattern := range []string{".*.new", "*/.*.new"} {
		files, _ := filepath.Glob(filepath.Join(globbed(dir), pattern))
		for _, file := range files {
			if strings.HasSuffix(file, ".new") {
				_ = os.Remove(file)
			}
		}
	}
}

// hook lets a test die in the middle.
var hook = func(string) {}
