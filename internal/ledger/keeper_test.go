package ledger

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger/ledgertest"
)

// keeping names the ledger that a copy of this test program keeps, as a daemon
// does.
const keeping = "FORKBOX_TEST_KEEPER"

// keep does what its input says, and answers with the number of boxes there are.
func keep(path string) {
	l, err := Open(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, err := l.obey(in.Text())
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(n)
	}
	os.Exit(0)
}

func (l *SQLite) obey(order string) (int, error) {
	ctx := context.Background()
	var verb string
	var count int
	if _, err := fmt.Sscan(order, &verb, &count); err != nil {
		return 0, err
	}
	list, err := l.Boxes(ctx, nil)
	for n := 0; n < count && err == nil; n++ {
		if verb == "add" {
			err = l.AddBox(ctx, ledgertest.Box(fmt.Sprintf("%012x", n), fmt.Sprint("box-", n), 1))
			continue
		}
		list[n].State = forkbox.Removing
		if err = l.UpdateBox(ctx, list[n]); err == nil {
			err = l.DeleteBox(ctx, list[n].ID)
		}
	}
	if err == nil {
		list, err = l.Boxes(ctx, nil)
	}
	return len(list), err
}
