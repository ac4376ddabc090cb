package ledger

import (
	"context"
	"errors"
	"os"
)

// reserve is how much room the ledger keeps for itself in its log, so that on a
// full disk what takes the space can still be removed: each removal is written
// down first. The log is written back to the ledger at half of this.
const reserve = 8 << 20

// keepReserve has the log keep its size, and gives it the reserve where the disk
// has plenty. Without it everything works until the disk is full.
func (l *SQLite) keepReserve(ctx context.Context) error {
	conn, err := l.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = conn.Raw(func(driver any) error {
		control, ok := driver.(interface {
			FileControlPersistWAL(name string, mode int) (int, error)
		})
		if !ok {
			return errors.ErrUnsupported
		}
		_, err := control.FileControlPersistWAL("main", 1)
		return err
	})
	if err != nil {
		return err
	}
	setAside(l.path+"-wal", reserve)
	return nil
}

// writtenBack says whether all that the log has is in the ledger itself.
func (l *SQLite) writtenBack() bool {
	var busy, logged, done int
	err := l.write.QueryRow("PRAGMA wal_checkpoint(FULL)").Scan(&busy, &logged, &done)
	return err == nil && busy == 0 && logged == done
}

// blank has the log, whose file stays for its room, say nothing any more: put
// beside another ledger, a backup say, it would be taken for that one's.
func blank(log string) error {
	f, err := os.OpenFile(log, os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, 32), 0) // its header
	return errors.Join(err, f.Close())
}

// makeRoom gives half of the reserve back: to begin on a full disk takes some.
// It says whether there was any to give. A log that has something stays as it
// is.
func makeRoom(log string) bool {
	f, err := os.OpenFile(log, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	header := make([]byte, 32)
	info, err := f.Stat()
	if err != nil || info.Size() < reserve {
		return false
	}
	if _, err := f.ReadAt(header, 0); err != nil || string(header) != string(make([]byte, 32)) {
		return false
	}
	return f.Truncate(reserve/2) == nil
}
