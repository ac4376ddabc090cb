package quota

import (
	"context"
	"fmt"
	"time"
)

// Enable switches quotas on for a btrfs of our own; it can be repeated. simple
// says that they are of the simple kind. Who does it to somebody else's btrfs
// slows it down, and makes it unreadable for older kernels.
func Enable(ctx context.Context, dir string) (simple bool, err error) {
	b, err := openBtrfs(dir)
	if err != nil {
		return false, err
	}
	err = inDir(dir, func(fd int) error {
		if !b.on() {
			if err := enable(fd); err != nil {
				return fmt.Errorf("switch on the quotas of the btrfs at %s: %w", dir, err)
			}
		}
		return counted(ctx, fd)
	})
	if err != nil {
		return false, err
	}
	if b, err = openBtrfs(dir); err != nil {
		return false, err
	}
	b.countAll()
	return b.simple, nil
}

// counted waits until full quota groups know what there is. Limits do not hold
// before.
func counted(ctx context.Context, fd int) error {
	for {
		if busy, err := counting(fd); !busy || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
