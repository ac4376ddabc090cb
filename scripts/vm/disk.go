package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// disk is a sparse file that the machine sees as a disk.
type disk struct {
	size int64 // MiB
	make []string
	as   plan.Disk
}

// rootSize is in MiB; what the tests write is on it too.
const rootSize = 4096

// planDisks tells the guest what its disks are for. The first is its root,
// which init finds by itself.
func planDisks() (planned []plan.Disk) {
	for i, d := range disks {
		d.as.Device = "/dev/vd" + string(rune('b'+i))
		planned = append(planned, d.as)
	}
	return planned
}

// makeDisks makes the files of all disks, the root first.
func makeDisks(ctx context.Context, work, root string) (files []string, err error) {
	all := append([]disk{{size: rootSize, make: makeRoot(root)}}, disks...)
	for i, d := range all {
		file := filepath.Join(work, fmt.Sprintf("disk%d", i))
		if err := sparse(file, d.size<<20); err != nil {
			return nil, err
		}
		if _, err := output(ctx, d.make[0], append(d.make[1:], file)...); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// makeRoot makes a filesystem with the content of root, all of it root's: in
// a user namespace the caller's own files are.
func makeRoot(root string) []string {
	make := []string{"mke2fs", "-q", "-F", "-t", "ext4", "-d", root}
	if os.Geteuid() != 0 {
		return append([]string{"unshare", "--map-root-user"}, make...)
	}
	return make
}

func sparse(file string, size int64) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
