package registry

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// serve starts a real registry on loopback and says where. users is the
// content of its htpasswd file.
func serve(t *testing.T, users string) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("there is no docker-registry (Debian's package of that name)")
	}
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: %s/data}}\nhttp: {addr: \"127.0.0.1:0\"}\n", dir)
	if users != "" {
		config += fmt.Sprintf("auth: {htpasswd: {realm: test, path: %s/users}}\n", dir)
		check(t, os.WriteFile(dir+"/users", []byte(users), 0o600))
	}
	check(t, os.WriteFile(dir+"/config.yml", []byte(config), 0o600))
	cmd := exec.Command(program, "serve", dir+"/config.yml")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	out, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return listening(t, out)
}

var address = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// listening reads the log until it says where the registry listens, and goes
// on reading so that the registry does not block.
func listening(t *testing.T, out io.Reader) string {
	lines := bufio.NewScanner(out)
	seen := ""
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return m[1]
		}
		seen += lines.Text() + "\n"
	}
	t.Fatalf("the registry did not start:\n%s", seen)
	return ""
}

// meddler is a proxy before a registry that does something to answers.
type meddler struct {
	mu     sync.Mutex
	meddle func(*http.Response)
	ranges []string // of requests for blobs
	sent   map[string]int
}

func (m *meddler) before(t *testing.T, host string) string {
	m.sent = map[string]int{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: host})
			r.Out.Host = r.In.Host // the registry writes URLs with it
			m.record(r.In)
		},
		ModifyResponse: func(r *http.Response) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.meddle != nil {
				m.meddle(r)
			}
			return nil
		},
	}
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func (m *meddler) record(r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent[r.Method]++
	if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
		m.ranges = append(m.ranges, r.Header.Get("Range"))
	}
}

func isBlob(r *http.Response) bool {
	return r.Request.Method == http.MethodGet && strings.Contains(r.Request.URL.Path, "/blobs/") && r.StatusCode < 300
}

// cutBody breaks off after some bytes.
type cutBody struct {
	io.ReadCloser
	left int
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errors.New("cut")
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// silentBody says nothing until the client has gone.
type silentBody struct {
	io.ReadCloser
	ctx context.Context
}

func (s *silentBody) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// flipBody changes one byte.
type flipBody struct {
	io.ReadCloser
	done bool
}

func (f *flipBody) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if n > 0 && !f.done {
		p[0] ^= 1
		f.done = true
	}
	return n, err
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err error, code forkbox.Code, says string) {
	t.Helper()
	if err == nil || forkbox.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		t.Fatalf("error %v with code %s; want %s and %q", err, forkbox.CodeOf(err), code, says)
	}
}

// image is a layout with an image of a small and a large layer.
func image(t *testing.T) string {
	t.Helper()
	dir, tree, other := t.TempDir(), t.TempDir(), t.TempDir()
	noise := make([]byte, 3<<20) // that does not become smaller
	state := uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	check(t, os.WriteFile(filepath.Join(tree, "large"), noise, 0o644))
	check(t, os.WriteFile(filepath.Join(other, "small"), []byte("x"), 0o644))
	_, _, err := oci.Build(context.Background(), dir, oci.Exporting{
		Layers: []oci.Stratum{{Trees: []oci.Tree{{Mount: "/", Dir: tree}}}, {Trees: []oci.Tree{{Mount: "/", Dir: other}}}},
		Image:  oci.Image{Base: "empty"},
	})
	check(t, err)
	return dir
}

// tally counts what Progress says was moved and skipped.
type tally struct{ moved, skipped map[string]bool }

func newTally() *tally { return &tally{map[string]bool{}, map[string]bool{}} }

func (c *tally) progress(p Progress) {
	if p.Skipped {
		c.skipped[p.Blob.String()] = true
	} else {
		c.moved[p.Blob.String()] = true
	}
}
