package ledger

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger/ledgertest"
)

// victim names the ledger that a copy of this test program writes to until it
// is killed.
const victim = "FORKBOX_TEST_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victim); path != "" {
		writeUntilKilled(path)
	}
	if path := os.Getenv(keeping); path != "" {
		keep(path)
	}
	os.Exit(m.Run())
}

// writeUntilKilled says what it wrote only after the ledger said it is written.
func writeUntilKilled(path string) {
	ctx := context.Background()
	l, err := Open(ctx, path)
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		b := ledgertest.Box(fmt.Sprintf("%012x", i), fmt.Sprintf("box-%d", i), 1)
		if err := l.AddBox(ctx, b); err != nil {
			panic(err)
		}
		b.State = forkbox.Running
		if err := l.UpdateBox(ctx, b); err != nil {
			panic(err)
		}
		if _, err := l.AddExec(ctx, forkbox.Exec{Box: b.ID, Argv: []string{"true"}}); err != nil {
			panic(err)
		}
		race := ledgertest.Race("r"+b.ID, "race-"+b.Name, 1, 0)
		if err := l.AddRace(ctx, race); err != nil {
			panic(err)
		}
		race.Entries[1].Why = b.ID
		if err := l.SaveEntries(ctx, race.ID, race.Entries[1:2]); err != nil {
			panic(err)
		}
		fmt.Println(b.ID)
	}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	var written []string
	for len(written) < 200 && said.Scan() {
		written = append(written, said.Text())
	}
	cmd.Process.Kill()
	for said.Scan() { // what it still got to say
		written = append(written, said.Text())
	}
	cmd.Wait()
	if len(written) < 200 {
		t.Fatalf("the writer ended after %d boxes", len(written))
	}

	l := opened(t, path)
	defer l.Close()
	for _, id := range written {
		b, err := l.Box(t.Context(), id)
		if err != nil || b.State != forkbox.Running {
			t.Fatalf("box %s: state %q, error %v", id, b.State, err)
		}
		if _, err := l.Exec(t.Context(), id, "1"); err != nil {
			t.Fatal(err)
		}
		races, err := l.FindRaces(t.Context(), 1, "r"+id)
		if err != nil || len(races) != 1 || races[0].Entries[1].Why != id {
			t.Fatalf("race of %s: %v, error %v", id, races, err)
		}
	}
}
