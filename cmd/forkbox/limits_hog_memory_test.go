//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// pagedIn is so much memory that is really there.
func pagedIn(bytes int64) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	for i := 0; i < len(mem); i += os.Getpagesize() {
		mem[i] = byte(i>>12) | 1 // pages that are alike could be merged
	}
	return mem, err
}

// taken is so much memory that is never given back.
func taken(bytes int64) error {
	for ; bytes > 0; bytes -= mib {
		if _, err := pagedIn(min(bytes, mib)); err != nil {
			return err
		}
	}
	return nil
}

// hogMemory takes SIZE of memory, and tells when it has it.
func hogMemory(args []string) error {
	if err := taken(sizeArg(args, 0)); err != nil {
		return err
	}
	fmt.Println("has it all")
	return nil
}

// hogMemorySteps takes as much more as each line of its stdin says, tells so,
// and holds it.
func hogMemorySteps([]string) error {
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	for lines.Scan() {
		if err := taken(sizeArg([]string{lines.Text()}, 0)); err != nil {
			return err
		}
		fmt.Println("took", lines.Text())
	}
	return lines.Err()
}

// hogMemoryTmpfs fills a file that lies in memory.
func hogMemoryTmpfs(args []string) error {
	f, err := os.Create("/dev/shm/hog")
	if err != nil {
		return err
	}
	if err := fillFile(f, sizeArg(args, 0)); err != nil {
		return err
	}
	fmt.Println("has it all")
	return nil
}

// hogMemoryCache writes and reads more than its limit of memory. That passes
// through the page cache, which is given back when it is wanted: nothing of it
// is a reason to be killed.
func hogMemoryCache(args []string) error {
	f, err := os.Create("cache")
	if err != nil {
		return err
	}
	if err := fillFile(f, sizeArg(args, 0)); err != nil {
		return err
	}
	for range 2 {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, onlyReader{f}); err != nil {
			return err
		}
	}
	fmt.Println("has read it all")
	return os.Remove("cache")
}

// onlyReader has no way around the page cache.
type onlyReader struct{ io.Reader }
