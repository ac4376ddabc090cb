package quota

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// projects limits directories by project ids: what is made in a directory that
// has one gets it too, and the filesystem limits what all of it takes.
//
// The ids are of a range of our own, drawn at random and taken if nothing has
// them: no registry of ids could be out of step with the directories, which is
// where the kernel keeps them. Nothing with an id is ever renamed into a tree
// of another (the kernel would refuse), only tops as a whole, whose new parents
// have none.
type projects struct {
	device device
	mu     sync.Mutex // an id that was found free is taken before the next is looked for
}

// The first byte of our ids, and how many random bits follow.
const (
	ourProjects = 0x66 << 24
	projectBits = 24
)

func findProjects(dir string) (Holder, error) {
	hint := "mount it with project quotas (xfs: -o prjquota; ext4: tune2fs -O project,quota -Q prjquota), or make a pool: forkbox store init --size 50G"
	dev, err := deviceOf(dir)
	if err != nil {
		return nil, &Missing{Why: "the filesystem's quotas cannot be asked for: " + err.Error(), Hint: hint}
	}
	on, err := dev.enforces()
	if err != nil || !on {
		return nil, &Missing{Why: "the filesystem that the store lies on has no project quotas switched on", Hint: hint}
	}
	return &projects{device: dev}, nil
}

func (p *projects) Name() string { return "project quotas" }
func (p *projects) Files() bool  { return true }
func (p *projects) Once() bool   { return false }

func (p *projects) Limit(dir string, bytes, files int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, err := projectOf(dir)
	if err != nil {
		return err
	}
	if id != 0 {
		return p.device.limit(id, bytes, files)
	}
	if id, err = p.free(); err != nil {
		return err
	}
	// The limit comes first: from then on the id is not free.
	if err := p.device.limit(id, bytes, files); err != nil {
		return err
	}
	if err := assign(dir, id); err != nil {
		return errors.Join(err, p.device.limit(id, None, None))
	}
	return nil
}

func (p *projects) free() (uint32, error) {
	for range 100 {
		var random [4]byte
		rand.Read(random[:])
		id := ourProjects | binary.NativeEndian.Uint32(random[:])&(1<<projectBits-1)
		usage, err := p.device.usage(id)
		if err != nil {
			return 0, err
		}
		if usage.free() {
			return id, nil
		}
	}
	return 0, errors.New("find a free project id: a hundred random ones are in use")
}

func (p *projects) Limits(dir string) (bytes, files int64, err error) {
	u, err := p.of(dir)
	if err != nil {
		return 0, 0, err
	}
	bytes, files = None, None
	if u.hardBlocks != 0 {
		bytes = int64(u.hardBlocks) * quotaBlock
	}
	if u.hardInodes != 0 {
		files = int64(u.hardInodes)
	}
	return bytes, files, nil
}

// Lift leaves the id: what the tree takes is still counted.
func (p *projects) Lift(dir string) error {
	id, err := projectOf(dir)
	if err != nil || id == 0 {
		return err
	}
	return p.device.limit(id, None, None)
}

func (p *projects) Used(dir string) (bytes, files int64, err error) {
	u, err := p.of(dir)
	return int64(u.space), int64(u.inodes), err
}

func (p *projects) of(dir string) (diskQuota, error) {
	id, err := projectOf(dir)
	if err != nil {
		return diskQuota{}, err
	}
	if id == 0 {
		return diskQuota{}, ErrUncounted
	}
	return p.device.usage(id)
}

func (p *projects) ID(dir string) (uint64, error) {
	id, err := projectOf(dir)
	return uint64(id), err
}

// Sweep: the record of a project without limits and files is none.
func (p *projects) Sweep() error { return nil }

// projectOf is the id of a directory that was given one by us, else 0.
func projectOf(dir string) (id uint32, err error) {
	err = inDir(dir, func(fd int) error {
		attr, err := attributesOf(fd)
		if err == nil && attr.project>>projectBits == ourProjects>>projectBits {
			id = attr.project
		}
		return err
	})
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the project id of %s: %w", dir, err)
	}
	return id, nil
}
