//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// filesCaller speaks of the files of box b as curl would.
type filesCaller struct {
	*limitWorld
	web *http.Client
}

func newFilesCaller(t *testing.T) *filesCaller {
	t.Helper()
	w := newLimitWorld(t, calm)
	w.create("b", "")
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(w.home, "forkbox.sock"))
	}}}
	t.Cleanup(web.CloseIdleConnections)
	return &filesCaller{w, web}
}

// ask makes a request. Headers are "Name: value".
func (c *filesCaller) ask(method, below, path string, body io.Reader, headers ...string) (*http.Response, string) {
	c.Helper()
	resp := c.open(method, below, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	c.ok(err)
	return resp, string(text)
}

func (c *filesCaller) open(method, below, path string, body io.Reader, headers ...string) *http.Response {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, "http://forkbox/v1/boxes/b/files"+below+"?path="+url.QueryEscape(path), body)
	c.ok(err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := c.web.Do(req)
	c.ok(err)
	return resp
}

// TestFilesOverHTTP: ranges, tags and conditions are what RFC 9110 says they are.
func TestFilesOverHTTP(t *testing.T) {
	t.Parallel()
	c := newFilesCaller(t)
	resp, text := c.ask("PUT", "", "f", strings.NewReader("0123456789"), "If-None-Match: *")
	if resp.StatusCode != 201 {
		t.Fatalf("%s %s", resp.Status, text)
	}
	resp, _ = c.ask("GET", "", "f", nil)
	tag := resp.Header.Get("ETag")
	for _, s := range []struct {
		name, method, body, header string
		status                     int
		want                       string
		is                         string // a header of the answer
	}{
		{"all of it", "GET", "", "", 200, "0123456789", "Accept-Ranges: bytes"},
		{"the head", "HEAD", "", "", 200, "", "Content-Length: 10"},
		{"a range", "GET", "", "Range: bytes=2-4", 206, "234", "Content-Range: bytes 2-4/10"},
		{"the end", "GET", "", "Range: bytes=-3", 206, "789", "Content-Range: bytes 7-9/10"},
		{"from somewhere on", "GET", "", "Range: bytes=8-", 206, "89", "Content-Range: bytes 8-9/10"},
		{"beyond its end", "GET", "", "Range: bytes=10-", 416, `"code":"invalid"`, "Content-Range: bytes */10"},
		{"not ranges at all", "GET", "", "Range: bytes=x", 416, "it has 10 bytes", ""},
		{"if it were another", "GET", "", `If-Match: "other"`, 412, `"code":"conflict"`, ""},
		{"known", "GET", "", "If-None-Match: " + tag, 304, "", "Etag: " + tag},
		{"there already", "PUT", "new", "If-None-Match: *", 412, `"code":"exists"`, ""},
		{"of another tag", "PUT", "new", `If-Match: "other"`, 412, `"code":"conflict"`, ""},
		{"still the same", "GET", "", "", 200, "0123456789", "Etag: " + tag},
		{"of this tag", "PUT", "newer", "If-Match: " + tag, 201, `"size":5`, ""},
		{"the tag is old", "PUT", "newest", "If-Match: " + tag, 412, `"code":"conflict"`, ""},
		{"what was written", "GET", "", "", 200, "newer", ""},
	} {
		var headers []string
		if s.header != "" {
			headers = []string{s.header}
		}
		resp, text := c.ask(s.method, "", "f", strings.NewReader(s.body), headers...)
		name, value, _ := strings.Cut(s.is, ": ")
		if resp.StatusCode != s.status || !strings.Contains(text, s.want) || s.is != "" && resp.Header.Get(name) != value {
			t.Errorf("%s: %s %q %v", s.name, resp.Status, text, resp.Header)
		}
	}
	if resp, text := c.ask("GET", "", "none", nil); resp.StatusCode != 404 || !strings.Contains(text, `"code":"not-found"`) {
		t.Errorf("what is not there: %s %s", resp.Status, text)
	}
}

// TestArchivesSayWhatIsMissing: the trailer of an archive has what was left out.
func TestArchivesSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	c := newFilesCaller(t)
	c.sh("b", "mkdir -p d/sub && echo x > d/sub/f && mkfifo d/fifo")
	var out bytes.Buffer
	done, err := c.Files("b").TarOut(t.Context(), "d", &out)
	c.ok(err)
	resp, text := c.ask("GET", "/tar", "d", nil)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != api.TarType || len(text) == 0 {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
	if (resp.Trailer.Get(api.SkippedTrailer) != "") != (done.Left > 0) {
		t.Errorf("the trailer is %q, and %d were left out", resp.Trailer.Get(api.SkippedTrailer), done.Left)
	}
	if resp, text := c.ask("GET", "/tar", "none", nil); resp.StatusCode != 404 || resp.Header.Get("Trailer") != "" {
		t.Errorf("%s %s %v", resp.Status, text, resp.Header)
	}
}

// TestFilesAreWatched: each change is a line, and the first says that the watch has
// begun.
func TestFilesAreWatched(t *testing.T) {
	t.Parallel()
	c := newFilesCaller(t)
	c.sh("b", "mkdir d")
	resp := c.open("GET", "/watch", "d", nil)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() (change api.FileChange) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("it ends: %v\n%s", lines.Err(), c.log())
		}
		c.ok(json.Unmarshal(lines.Bytes(), &change))
		return change
	}
	if first := next(); first.Kind != api.Watching {
		t.Fatalf("%+v", first)
	}
	c.sh("b", "echo x > d/made")
	if made := next(); !strings.HasSuffix(made.Path, "made") || made.Error != nil {
		t.Errorf("%+v", made)
	}
	_, err := c.Stop(t.Context(), "b", nil)
	c.ok(err)
	for {
		last := next()
		if last.Error == nil {
			continue
		}
		if last.Error.Code == forkbox.Internal || last.Error.Why == "" {
			t.Errorf("%+v", last.Error)
		}
		break
	}
}

// sh runs a script in a box.
func (w *limitWorld) sh(box, script string) {
	w.Helper()
	exec, err := w.ExecDetached(w.Context(), box, shell(script))
	w.ok(err)
	exec, err = w.WaitExec(w.Context(), box, exec.ID, "")
	w.ok(err)
	if exec.Exit == nil || exec.Exit.Code != 0 {
		w.Fatalf("%s: %+v\n%s", script, exec.Exit, w.log())
	}
}

// TestTransfersEndWithTheirBox: a box that is stopped or removed in the middle of a
// transfer ends it with an error that says so, and nothing half-written is left.
func TestTransfersEndWithTheirBox(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	for name, end := range map[string]func(box string) error{
		"stopped": func(box string) error { _, err := w.Stop(t.Context(), box, nil); return err },
		"removed": func(box string) error { return w.Remove(t.Context(), box, true) },
	} {
		for _, op := range []string{"write", "tar in", "read"} {
			t.Run(name+" during "+op, func(t *testing.T) {
				w := w.as(t)
				w.create("b", "")
				w.sh("b", "mkdir d && echo old > d/f && head -c 50000000 /dev/zero > d/large")
				err := w.transfer(op, func() { w.ok(end("b")) })
				if err == nil {
					t.Fatal("it succeeded")
				}
				if code := forkbox.CodeOf(err); code == forkbox.Internal || code == "" {
					t.Errorf("it says %s: %v", code, err)
				}
				t.Log(err)
				if name == "removed" {
					return
				}
				w.sh("b", `test "$(cat d/f)" = old && test "$(ls -A d | tr '\n' ' ')" = "f large "`)
				w.ok(w.Remove(t.Context(), "b", true))
			})
		}
	}
}

// transfer is interrupted when it has begun.
func (w *limitWorld) transfer(op string, interrupt func()) error {
	w.Helper()
	files := w.Files("b")
	if op == "read" {
		content, err := files.Read(w.Context(), "d/large", client.Span{})
		w.ok(err)
		defer content.Close()
		_, err = io.ReadFull(content, make([]byte, 1000))
		w.ok(err)
		interrupt()
		_, err = io.Copy(io.Discard, content)
		return err
	}
	body, feed := io.Pipe()
	done := make(chan error, 1)
	go func() {
		var err error
		if op == "write" {
			_, err = files.Write(w.Context(), "d/f", body, client.WriteOptions{})
		} else {
			_, err = files.TarIn(w.Context(), "d", body, client.TarOptions{})
		}
		body.CloseWithError(io.ErrClosedPipe)
		done <- err
	}()
	begin := bytes.Repeat([]byte("x"), 1<<20)
	if op == "tar in" {
		begin = append(tarHeader("new", 1<<30), begin...)
	}
	_, err := feed.Write(begin) // it has it all: the pipe has no room of its own
	w.ok(err)
	interrupt()
	return <-done
}
