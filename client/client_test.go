//go:build unix

package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fb") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// answering is a daemon that says the same to all clients.
func answering(t *testing.T, socket string, status int, body string) {
	t.Helper()
	short, release, err := ShortSocketPath(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	l, err := net.Listen("unix", short)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write([]byte(body))
	})}
	go web.Serve(l)
	t.Cleanup(func() { web.Close() })
}

func TestHomeAndSocket(t *testing.T) {
	t.Setenv("FORKBOX_HOME", "/x/home")
	t.Setenv("FORKBOX_SOCKET", "")
	if got := DefaultSocket(); got != "/x/home/forkbox.sock" {
		t.Error(got)
	}
	t.Setenv("FORKBOX_SOCKET", "rel.sock")
	if got := DefaultSocket(); !filepath.IsAbs(got) {
		t.Error(got)
	}
	t.Setenv("FORKBOX_HOME", "")
	t.Setenv("XDG_STATE_HOME", "/x/state")
	want := "/x/state/forkbox"
	if os.Geteuid() == 0 {
		want = "/var/lib/forkbox"
	}
	if got := DefaultHome(); got != want {
		t.Error(got)
	}
}

func TestLongSocketPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no way around the limit here")
	}
	dir := filepath.Join(shortDir(t), strings.Repeat("d", 100), strings.Repeat("e", 100))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "forkbox.sock")
	answering(t, socket, 200, `{"boxes":[{"id":"1"}]}`)
	boxes, err := New(socket).Boxes(t.Context())
	if err != nil || len(boxes) != 1 {
		t.Errorf("%v %v", boxes, err)
	}
}

func TestNoDaemon(t *testing.T) {
	c := New(filepath.Join(shortDir(t), "s"))
	_, err := c.Boxes(t.Context())
	if forkbox.CodeOf(err) != forkbox.Unavailable || !strings.Contains(err.Error(), "no daemon is running") {
		t.Error(err)
	}
	c.Redial = func(context.Context) error { answering(t, c.Socket(), 200, `{"boxes":[]}`); return nil }
	if _, err := c.Boxes(t.Context()); err != nil {
		t.Errorf("after a redial: %v", err)
	}
	failing := errors.New("no")
	c = New(filepath.Join(shortDir(t), "s"))
	c.Redial = func(context.Context) error { return forkbox.Errorf(forkbox.Denied, "start", "%w", failing) }
	if _, err := c.Create(t.Context(), api.CreateRequest{}); !errors.Is(err, failing) || forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("a redial that fails: %v", err)
	}
}

func TestStrangeAnswers(t *testing.T) {
	for body, code := range map[string]forkbox.Code{
		`{"error":{"code":"busy","op":"x","why":"y"}}`: forkbox.Busy,
		`oops`: forkbox.Internal,
		`{}`:   forkbox.Internal,
	} {
		socket := filepath.Join(shortDir(t), "s")
		answering(t, socket, 500, body)
		c := New(socket)
		if _, err := c.Box(t.Context(), "b"); forkbox.CodeOf(err) != code {
			t.Errorf("%s: %v", body, err)
		}
		if _, err := c.Exec(t.Context(), "b", api.ExecRequest{}, forkbox.Stdio{}); forkbox.CodeOf(err) != code {
			t.Errorf("%s, upgraded: %v", body, err)
		}
	}
}

func TestDirectoryOthersCanWriteIsNotTrusted(t *testing.T) {
	dir := shortDir(t)
	answering(t, filepath.Join(dir, "s"), 200, `{"boxes":[]}`)
	for mode, trusted := range map[os.FileMode]bool{
		0o700: true, 0o755: true, 0o777: false, 0o770: false, 0o777 | os.ModeSticky: true,
	} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err := New(filepath.Join(dir, "s")).Boxes(t.Context())
		if (err == nil) != trusted {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}
