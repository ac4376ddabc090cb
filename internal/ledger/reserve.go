package ledger

import (
	"context"
	"errors"
	"os"
	"strconv"
)

// On a full disk what takes the space can still be removed, although each
// removal is written down first, and a daemon can begin. Three things see to it:
// the log keeps its room (reserve); on btrfs, which writes nothing twice at the
// same place, the ledger's files are told to (writeInPlace); and what SQLite makes anew
// whenever the ledger is opened takes the room of a spare file (takeSpare).
const (
	// reserve is the room of the log, which is written back to the ledger at
	// half of this.
	reserve = 8 << 20
	// A start takes some 100 KiB. Several may fail before the owner has made
	// room, and others may be faster at what one gave back.
	spares    = 4
	spareSize = 1 << 20
)

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
	for n := range spares {
		setAside(spare(l.path, n), spareSize)
	}
	return nil
}

// spare is a file that is nothing but room.
func spare(ledger string, n int) string { return ledger + "-spare" + strconv.Itoa(n) }

// takeSpare gives the room of one spare file back to the disk. It says whether
// there was one.
func takeSpare(ledger string) bool {
	for n := range spares {
		if os.Remove(spare(ledger, n)) == nil {
			settle(ledger)
			return true
		}
	}
	return false
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
