//go:build unix

package page_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// browser is a real one, with a page open in it. It is spoken to through a pipe,
// in Chromium's own protocol: messages of JSON that end with a zero byte.
type browser struct {
	*testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	last    int
}

// open shows a page in a browser.
func open(t *testing.T, page []byte) *browser {
	t.Helper()
	program := chromium(t)
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, page, 0o644); err != nil {
		t.Fatal(err)
	}
	b := start(t, program)
	var target struct{ TargetID string }
	b.ask("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.ask("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.ask("Page.enable", nil, nil)
	b.ask("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	b.await("Page.loadEventFired")
	return b
}

func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no browser here: install chromium")
	return ""
}

// start runs it without its own sandbox: that does not start for root, and the
// only page it sees is ours.
func start(t *testing.T, program string) *browser {
	t.Helper()
	theirIn, ourOut := pipe(t)
	ourIn, theirOut := pipe(t)
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{T: t, to: ourOut, from: bufio.NewReader(ourIn)}
	t.Cleanup(func() {
		b.session = ""
		b.ask("Browser.close", nil, nil)
		if err := cmd.Wait(); err != nil {
			t.Logf("the browser ended with %v", err)
		}
	})
	// Nothing takes so long: this only ends a test that would hang.
	for _, f := range []*os.File{ourIn, ourOut} {
		if err := f.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	return read, write
}

// ask calls a method and waits for its answer.
func (b *browser) ask(method string, params map[string]any, answer any) {
	b.Helper()
	b.last++
	call := map[string]any{"id": b.last, "method": method}
	if params != nil {
		call["params"] = params
	}
	if b.session != "" {
		call["sessionId"] = b.session
	}
	text, err := json.Marshal(call)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.Fatal(err)
	}
	m := b.next(func(m message) bool { return m.ID == b.last })
	if m.Error != nil {
		b.Fatalf("%s: %s", method, m.Error)
	}
	if answer != nil {
		if err := json.Unmarshal(m.Result, answer); err != nil {
			b.Fatal(err)
		}
	}
}

type message struct {
	ID            int
	Method        string
	Result, Error json.RawMessage
}

func (b *browser) await(event string) {
	b.Helper()
	b.next(func(m message) bool { return m.Method == event })
}

func (b *browser) next(wanted func(message) bool) message {
	b.Helper()
	for {
		text, err := b.from.ReadBytes(0)
		if err != nil {
			b.Fatalf("the browser says no more: %v", err)
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.Fatal(err)
		}
		if wanted(m) {
			return m
		}
	}
}

// value is what an expression is in the page. It is not bound by the page's
// policy.
func value[T any](b *browser, expression string) (v T) {
	b.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.ask("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if err := json.Unmarshal(answer.Result.Value, &v); err != nil {
		b.Fatalf("%s: %v: %s", expression, err, answer.Result.Value)
	}
	return v
}
