package race

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// withTranscripts has the races of a world keep what is printed.
func (w *world) withTranscripts() (dir string) {
	dir = w.t.TempDir()
	w.stop()
	logs := filepath.Join(dir, "logs")
	check(w.t, os.Mkdir(logs, 0o700))
	w.host.logs = logs
	w.Races = New(Config{Boxes: fakeBoxes{w.host, nil}, Ledger: w.ledger, Transcripts: Transcripts{
		Dir: filepath.Join(dir, "races"), Log: w.host.logFile,
		Read: func(_ context.Context, path string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return yield(forkbox.LogRecord{Stream: "stdout", Data: data})
		},
	}})
	return filepath.Join(dir, "races")
}

func (w *world) transcript(ref, approach string) string {
	w.t.Helper()
	var text []string
	check(w.t, w.Log(context.Background(), ada, ref, approach, false, func(l forkbox.RaceLog) error {
		text = append(text, l.Part+" | "+string(l.Data))
		return nil
	}))
	return strings.Join(text, "\n")
}

func TestTranscriptsOutliveTheirBox(t *testing.T) {
	tries := 0
	w := newWorld(t, map[string]script{
		"prepare": prints("prepared"), "step one": prints("one"), "test": prints("tested"), "number": prints("3"),
		"unlucky": func(map[string]string, int) (int, string) { tries++; return 2 - tries, "try" },
	})
	dir := w.withTranscripts()
	rec := w.run(forkbox.RaceSpec{
		Name: "r", Setup: []forkbox.Command{{Run: "prepare"}}, Approaches: approaches("a=unlucky;step one", "b=step one"), Retries: 1,
		Checks: checks("test"), Metrics: []forkbox.Metric{metric("number", forkbox.Extract{})},
	})
	for _, e := range rec.Entries {
		check(t, fakeBoxes{host: w.host}.Remove(context.Background(), ada, e.Box, true))
	}
	const want = "step: unlucky | try\nstep: step one | one\ncheck: test | tested\nmetric: m (0) | 3\ncheck: test (2) | tested"
	if got := w.transcript("r", "a"); got != want && got != strings.TrimSuffix(want, "\ncheck: test (2) | tested") {
		t.Errorf("%s", got)
	}
	if got := w.transcript("r", ""); got != "setup: prepare | prepared" {
		t.Errorf("%s", got)
	}
	wantCode(t, w.Log(context.Background(), ada, "r", "nosuch", false, nil), forkbox.NotFound)
	check(t, w.Remove(context.Background(), ada, "r", false))
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestTranscriptNames(t *testing.T) {
	one := transcript{1700000000000000001, "aaaaaaaaaaaa", "a2/metric/0/warm/3"}
	if got, ok := parseTranscript(one.file()); !ok || got != one {
		t.Errorf("%+v of %s", got, one.file())
	}
	for _, bad := range []string{"", "x", "1.b", "x.b.c"} {
		if _, ok := parseTranscript(bad); ok {
			t.Errorf("%q is one", bad)
		}
	}
	if dir := (Transcripts{Dir: "/d"}).of("../../x", "../../y"); dir != "/d/x/y" {
		t.Error(dir)
	}
}
