//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// noise is a mebibyte that no filesystem can make smaller.
func noise() []byte {
	b := make([]byte, mib)
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(b)
	return b
}

// fillFile writes so much and has it reach the disk: some quotas are only
// counted there.
func fillFile(f *os.File, bytes int64) error {
	block := noise()
	for done := int64(0); done < bytes; {
		n, err := f.Write(block[:min(int64(len(block)), bytes-done)])
		done += int64(n)
		if err == nil && done%(16*mib) == 0 {
			err = f.Sync()
		}
		if err != nil {
			fmt.Println("wrote", done)
			return err
		}
	}
	err := f.Sync()
	fmt.Println("wrote", bytes)
	return err
}

// hogDiskBig writes one file of SIZE.
func hogDiskBig(args []string) error {
	f, err := os.Create("big")
	if err != nil {
		return err
	}
	return fillFile(f, sizeArg(args, 0))
}

// hogDiskSlow takes its time over SIZE, so that a watcher can see it coming.
func hogDiskSlow(args []string) error {
	f, err := os.Create("slow")
	if err != nil {
		return err
	}
	block := noise()
	for left := sizeArg(args, 0); left > 0; left -= mib {
		if _, err := f.Write(block); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond) // a hog that is slow
	}
	fmt.Println("has it all")
	return f.Sync()
}

// hogDiskDeleted writes to a file that has no name any more.
func hogDiskDeleted(args []string) error {
	f, err := os.Create("deleted")
	if err != nil {
		return err
	}
	if err := os.Remove("deleted"); err != nil {
		return err
	}
	return fillFile(f, sizeArg(args, 0))
}

// hogDiskFallocate has disk set aside without writing.
func hogDiskFallocate(args []string) error {
	f, err := os.Create("set-aside")
	if err != nil {
		return err
	}
	const step = 64 << 10
	for at := int64(0); at < sizeArg(args, 0); at += step {
		if err := unix.Fallocate(int(f.Fd()), 0, at, step); err != nil {
			fmt.Println("set aside", at)
			return os.NewSyscallError("fallocate", err)
		}
	}
	return f.Sync()
}

// hogDiskSparse makes a file that is large and has almost nothing in it.
func hogDiskSparse(args []string) error {
	f, err := os.Create("sparse")
	if err != nil {
		return err
	}
	size := sizeArg(args, 0)
	for _, at := range []int64{0, size / 2, size - 4096} {
		if _, err := f.WriteAt(noise()[:4096], at); err != nil {
			return err
		}
	}
	fmt.Println("has it all")
	return f.Sync()
}

// hogDiskMany makes N small files, a thousand to a directory.
func hogDiskMany(args []string) error {
	content := noise()[:1000]
	for i := range countArg(args, 0, 1_000_000) {
		dir := filepath.Join("many", strconv.Itoa(i/1000))
		if i%1000 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				fmt.Println("made", i)
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), content, 0o644); err != nil {
			fmt.Println("made", i)
			return err
		}
	}
	return nil
}
