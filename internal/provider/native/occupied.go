//go:build linux

package native

import "context"

// Occupied says whether anything runs in the box but its init. Where the kernel
// counts that init need not be asked, who would look at every process.
func (i *instance) Occupied(ctx context.Context) (bool, error) {
	if i.group != nil {
		if n, err := i.group.Tasks(); err == nil {
			return n > 0, nil
		}
	}
	ps, err := i.Processes(ctx)
	return len(ps) > 1, err
}
