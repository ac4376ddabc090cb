package ledgertest

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func execIDsCount(t *testing.T, l forkbox.Ledger) {
	add(t, l, Box("aaaaaaaaaaaa", "one", 1), Box("bbbbbbbbbbbb", "two", 1))
	for i := range 12 { // past 9, where text would sort wrongly
		for _, box := range []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb"} {
			got, err := l.AddExec(t.Context(), exec(box, "true"))
			noError(t, err)
			equal(t, got.ID, strconv.Itoa(i+1))
		}
	}
	execs, err := l.Execs(t.Context(), "aaaaaaaaaaaa")
	noError(t, err)
	for i, e := range execs {
		equal(t, e.ID, strconv.Itoa(i+1))
	}
	equal(t, len(execs), 12)
}

func lastExecs(t *testing.T, l forkbox.Ledger) {
	add(t, l, Box("aaaaaaaaaaaa", "one", 1), Box("bbbbbbbbbbbb", "two", 1), Box("cccccccccccc", "three", 1), Box("dddddddddddd", "four", 2))
	for _, box := range []string{"aaaaaaaaaaaa", "aaaaaaaaaaaa", "bbbbbbbbbbbb", "dddddddddddd"} {
		_, err := l.AddExec(t.Context(), exec(box, "true"))
		noError(t, err)
	}
	last, err := l.LastExecs(t.Context(), 1)
	noError(t, err)
	equal(t, len(last), 2)
	equal(t, last["aaaaaaaaaaaa"].ID, "2")
	equal(t, last["bbbbbbbbbbbb"].ID, "1")
}

func execIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	add(t, l, Box("aaaaaaaaaaaa", "one", 1))
	e, err := l.AddExec(t.Context(), exec("aaaaaaaaaaaa", "sh", "-c", "exit 3"))
	noError(t, err)
	got, err := l.Exec(t.Context(), e.Box, e.ID)
	noError(t, err)
	equal(t, got, e)

	ended := time.Date(2026, 1, 2, 3, 4, 7, 0, time.UTC)
	e.Ended = &ended
	e.Exit = &forkbox.Exit{
		Code: 3, Cause: forkbox.CauseExited, Why: "why", Signal: "SIGKILL", By: "user ada", Forced: true, Limit: 4, Peak: 5,
	}
	e.Output = &forkbox.Output{Kept: 1, Dropped: 2, Cap: 3}
	noError(t, l.UpdateExec(t.Context(), e))
	got, err = l.Exec(t.Context(), e.Box, e.ID)
	noError(t, err)
	equal(t, *got.Exit, *e.Exit)
	equal(t, *got.Output, *e.Output)
	equal(t, *got.Ended, ended)
}

// manyAtOnce: boxes are added, changed and listed at the same time, and execs
// of one box never share an id.
func manyAtOnce(t *testing.T, l forkbox.Ledger) {
	const boxes, execs = 8, 10
	add(t, l, Box("ffffffffffff", "shared", 1))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var got []string
	for i := range boxes {
		wg.Go(func() {
			b := Box(fmt.Sprintf("%012x", i), fmt.Sprintf("box-%d", i), 1)
			if err := l.AddBox(t.Context(), b); err != nil {
				t.Error(err)
			}
			for range execs {
				e, err := l.AddExec(t.Context(), exec("ffffffffffff", "true"))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				got = append(got, e.ID)
				mu.Unlock()
				if _, err := l.Boxes(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
			b.State = forkbox.Running
			if err := l.UpdateBox(t.Context(), b); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	equal(t, len(slices.Compact(sorted(got))), boxes*execs)
	all, err := l.Boxes(t.Context(), nil, forkbox.Running)
	noError(t, err)
	equal(t, len(all), boxes)
}
