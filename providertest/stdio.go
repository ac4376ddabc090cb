package providertest

import (
	"bytes"
	"io"
	"math/rand"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

var stdioChecks = []check{
	{"StreamsAreApart", streamsAreApart},
	{"OnePipeKeepsTheOrder", onePipeKeepsTheOrder},
	{"NoFilesIsDevNull", noFilesIsDevNull},
	{"Stdin", stdin},
	{"LargeBinaryStdin", largeBinaryStdin},
	{"ClosedReaderIsSIGPIPE", closedReader},
	{"OutputIsKept", outputIsKept},
	{"OutputIsCapped", outputIsCapped},
	{"DaemonInBackgroundDoesNotDelayTheExit", backgroundChild},
	{"NoDescriptorsBesidesStdio", noOtherFiles},
	{"FiftyAtOnce", fiftyAtOnce},
}

func streamsAreApart(t *testing.T, r *Running) {
	res := r.Run(Shell("echo out; echo err >&2"), nil)
	if res.Stdout != "out\n" || res.Stderr != "err\n" {
		t.Errorf("stdout %q, stderr %q", res.Stdout, res.Stderr)
	}
}

func onePipeKeepsTheOrder(t *testing.T, r *Running) {
	theirs, ours := r.lab.Pipes()
	defer ours.Close()
	theirs.Err.Close()
	theirs.Err = theirs.Out
	const script = `i=0; while [ $i -lt 200 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done`
	if err := r.Exec(r.ID(), Shell(script), theirs, logCap); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(ours.Out)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 200 {
		n := itoa(i)
		want.WriteString("o" + n + "\ne" + n + "\n")
	}
	if string(got) != want.String() {
		t.Errorf("order was lost:\n%.200s", got)
	}
}

func noFilesIsDevNull(t *testing.T, r *Running) {
	id := r.ID()
	if err := r.Exec(id, Shell("cat && echo lost && echo lost >&2"), forkbox.Stdio{}, logCap); err != nil {
		t.Fatal(err)
	}
	if end := r.Wait(id); end.Exit.Code != 0 || end.Output.Kept != 10 {
		t.Errorf("ended with %+v", end)
	}
}

func stdin(t *testing.T, r *Running) {
	if res := r.Run(forkbox.ExecSpec{Argv: []string{"cat"}}, strings.NewReader("a\x00b\nc")); res.Stdout != "a\x00b\nc" {
		t.Errorf("cat gave %q", res.Stdout)
	}
}

func largeBinaryStdin(t *testing.T, r *Running) {
	data := make([]byte, 8<<20)
	_, _ = rand.New(rand.NewSource(1)).Read(data)
	if res := r.Run(forkbox.ExecSpec{Argv: []string{"cat"}}, bytes.NewReader(data)); res.Stdout != string(data) {
		t.Errorf("%d bytes went in, %d came back or not the same ones", len(data), len(res.Stdout))
	}
}

func closedReader(t *testing.T, r *Running) {
	theirs, ours := r.lab.Pipes()
	defer ours.Close()
	id := r.ID()
	if err := r.Exec(id, forkbox.ExecSpec{Argv: []string{"yes"}}, theirs, logCap); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(ours.Out, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	ours.Out.Close()
	want := forkbox.Exit{Code: 128 + 13, Signal: "SIGPIPE", Cause: forkbox.CauseSignalled}
	if end := r.Wait(id); end.Exit != want {
		t.Errorf("ended with %+v", end.Exit)
	}
}

func outputIsKept(t *testing.T, r *Running) {
	res := r.Run(Shell("echo out; echo err >&2"), nil)
	kept := map[string]string{}
	for _, rec := range r.lab.ReadLog(r.Box.ID, res.ID) {
		kept[rec.Stream] += string(rec.Data)
	}
	if kept["stdout"] != "out\n" || kept["stderr"] != "err\n" {
		t.Errorf("the log has %q", kept)
	}
	if want := (forkbox.Output{Kept: 8, Cap: logCap}); res.Output != want {
		t.Errorf("counted %+v", res.Output)
	}
}

func outputIsCapped(t *testing.T, r *Running) {
	theirs, ours := r.lab.Pipes()
	defer ours.Close()
	id := r.ID()
	if err := r.Exec(id, Shell("printf %01000d 0"), theirs, 100); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(ours.Out); len(got) != 1000 {
		t.Errorf("the caller got %d bytes", len(got))
	}
	want := forkbox.Output{Kept: 100, Dropped: 900, Cap: 100}
	if end := r.Wait(id); end.Output != want {
		t.Errorf("counted %+v", end.Output)
	}
	size := 0
	for _, rec := range r.lab.ReadLog(r.Box.ID, id) {
		size += len(rec.Data)
	}
	if size != 100 {
		t.Errorf("the log has %d bytes", size)
	}
}

func backgroundChild(t *testing.T, r *Running) {
	theirs, ours := r.lab.Pipes()
	defer ours.Close()
	id := r.ID()
	if err := r.Exec(id, Shell("sleep 1000 & echo started"), theirs, logCap); err != nil {
		t.Fatal(err)
	}
	if end := r.Wait(id); end.Exit.Code != 0 || end.Output.Kept != int64(len("started\n")) {
		t.Errorf("ended with %+v", end)
	}
	if Marked(r.Box, id) == 0 {
		t.Error("the exit of the exec took its daemon along")
	}
}

// noOtherFiles: also when the daemon was started with files open in it.
func noOtherFiles(t *testing.T, r *Running) {
	res := r.Run(Shell("ls /proc/self/fd"), nil)
	if got := strings.Fields(res.Stdout); len(got) > 4 { // 3 is ls reading the directory
		t.Errorf("descriptors %v", got)
	}
}

func fiftyAtOnce(t *testing.T, r *Running) {
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			res, err := r.Try(Shell("cat; exit "+itoa(i)), strings.NewReader(itoa(i)))
			if err != nil || res.Stdout != itoa(i) || res.Exit.Code != i {
				t.Errorf("exec %d: %q, %+v, %v", i, res.Stdout, res.Exit, err)
			}
		})
	}
	group.Wait()
}
