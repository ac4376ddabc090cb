package copying

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain has the test be the holder, and the other processes that tests need.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == HolderName {
		os.Exit(RunHolder())
	}
	if len(os.Args) > 1 {
		for name, be := range map[string]func(arg string) error{"be-writer": beWriter, "be-partner": bePartner, "be-daemon": beDaemon} {
			if os.Args[1] == name {
				if err := be(os.Args[2]); err != nil {
					fmt.Fprintln(os.Stderr, name, err)
					os.Exit(1)
				}
				os.Exit(0)
			}
		}
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
