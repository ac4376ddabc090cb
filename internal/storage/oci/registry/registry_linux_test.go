package registry

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

func TestMain(m *testing.M) {
	pause = time.Millisecond
	os.Exit(m.Run())
}

// unpacked says what files an image in a layout has.
func unpacked(t *testing.T, dir string) []string {
	t.Helper()
	l, err := oci.OpenLayout(dir)
	check(t, err)
	im, err := l.Image(oci.Want{})
	check(t, err)
	root := t.TempDir()
	_, err = oci.UnpackRoot(context.Background(), root, im.Layers, oci.Form{})
	check(t, err)
	entries, err := os.ReadDir(root)
	check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestPushedImageCanBePulled(t *testing.T) {
	host, src, dst := serve(t, ""), image(t), t.TempDir()
	first, second := newTally(), newTally()
	pushed, err := Push(context.Background(), src, host+"/team/box:v1", Options{Progress: first.progress})
	check(t, err)
	if len(first.moved) != 4 || len(first.skipped) != 0 {
		t.Errorf("first push: %d moved, %d skipped", len(first.moved), len(first.skipped))
	}
	_, err = Push(context.Background(), src, host+"/team/box:v1", Options{Progress: second.progress})
	check(t, err)
	if len(second.moved) != 0 || len(second.skipped) != 4 {
		t.Errorf("second push: %d moved, %d skipped", len(second.moved), len(second.skipped))
	}
	pulled, err := Pull(context.Background(), host+"/team/box:v1", dst, Options{})
	check(t, err)
	if pulled.Digest != pushed.Digest {
		t.Errorf("pulled %s, pushed %s", pulled.Digest, pushed.Digest)
	}
	if got := unpacked(t, dst); !slices.Equal(got, []string{"large", "small"}) {
		t.Errorf("files %q", got)
	}
	again := newTally()
	_, err = Pull(context.Background(), host+"/team/box@"+pulled.Digest.String(), dst, Options{Progress: again.progress})
	check(t, err)
	if len(again.skipped) != 3 {
		t.Errorf("second pull: %d skipped", len(again.skipped))
	}
}

// Another name for what is there costs one manifest.
func TestBlobsAreNotSentTwice(t *testing.T) {
	host, src := serve(t, ""), image(t)
	_, err := Push(context.Background(), src, host+"/box:v1", Options{})
	check(t, err)
	m := &meddler{}
	_, err = Push(context.Background(), src, m.before(t, host)+"/box:v2", Options{})
	check(t, err)
	if m.sent[http.MethodPost] != 0 || m.sent[http.MethodPut] != 1 {
		t.Errorf("requests %v", m.sent)
	}
}

func TestImageThatIsNotThere(t *testing.T) {
	host := serve(t, "")
	_, err := Push(context.Background(), image(t), host+"/box:v1", Options{})
	check(t, err)
	for _, name := range []string{"/box:v2", "/other:v1", "/box@sha256:" + strings.Repeat("0", 64)} {
		dir := filepath.Join(t.TempDir(), "layout")
		_, err := Pull(context.Background(), host+name, dir, Options{})
		wantError(t, err, forkbox.NotFound, "no such image")
		if _, err := os.Lstat(dir); err == nil {
			t.Error("it made a directory for nothing")
		}
	}
}

// The connection breaks again and again: every attempt goes on where the last
// one stopped.
func TestCutDownloadGoesOn(t *testing.T) {
	host, dst := serve(t, ""), t.TempDir()
	_, err := Push(context.Background(), image(t), host+"/box:v1", Options{})
	check(t, err)
	cuts := 3
	m := &meddler{meddle: func(r *http.Response) {
		if isBlob(r) && r.ContentLength > 1<<20 && cuts > 0 {
			cuts--
			r.Body = &cutBody{r.Body, 600 << 10}
		}
	}}
	_, err = Pull(context.Background(), m.before(t, host)+"/box:v1", dst, Options{})
	check(t, err)
	if got := unpacked(t, dst); !slices.Equal(got, []string{"large", "small"}) {
		t.Errorf("files %q", got)
	}
	if !slices.ContainsFunc(m.ranges, func(r string) bool { return strings.HasPrefix(r, "bytes=") && !strings.HasPrefix(r, "bytes=0-") }) {
		t.Errorf("nothing was resumed: %q", m.ranges)
	}
}

// A pull that is interrupted leaves what came for the next one.
func TestInterruptedPullGoesOn(t *testing.T) {
	host, dst := serve(t, ""), t.TempDir()
	_, err := Push(context.Background(), image(t), host+"/box:v1", Options{})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// No more than a part comes at once: all of it could be there before it is
	// cancelled.
	m := &meddler{meddle: func(r *http.Response) {
		if isBlob(r) && r.ContentLength > 1<<20 {
			r.Body = &cutBody{r.Body, 1200 << 10}
		}
	}}
	_, err = Pull(ctx, m.before(t, host)+"/box:v1", dst, Options{Progress: func(p Progress) {
		if p.Done > 1<<20 && p.Done < p.Total {
			cancel()
		}
	}})
	if err == nil || ctx.Err() == nil {
		t.Fatalf("error %v, cancelled: %v", err, ctx.Err())
	}
	parts, err := filepath.Glob(dst + "/blobs/sha256/*.part")
	if err != nil || len(parts) != 1 {
		t.Fatalf("parts %q", parts)
	}
	l, err := oci.OpenLayout(dst)
	check(t, err)
	if _, err := l.Image(oci.Want{}); err == nil {
		t.Error("half an image is in the index")
	}
	var start int64 = -1
	_, err = Pull(context.Background(), host+"/box:v1", dst, Options{Progress: func(p Progress) {
		if start < 0 && p.Total > 1<<20 && !p.Skipped {
			start = p.Done
		}
	}})
	check(t, err)
	if start < 1<<20 {
		t.Errorf("the second pull began at %d", start)
	}
	if got := unpacked(t, dst); !slices.Equal(got, []string{"large", "small"}) {
		t.Errorf("files %q", got)
	}
}

// A part that was damaged on disk costs time and nothing else.
func TestDamagedPartIsReplaced(t *testing.T) {
	host, src, dst := serve(t, ""), image(t), t.TempDir()
	_, err := Push(context.Background(), src, host+"/box:v1", Options{})
	check(t, err)
	l, err := oci.OpenLayout(src)
	check(t, err)
	_, m, err := l.Find(oci.Want{})
	check(t, err)
	into, err := oci.CreateLayout(dst)
	check(t, err)
	for i, size := range []int64{1000, 1 << 20} { // shorter than the blob, and longer
		path, err := into.BlobPath(m.Layers[i].Digest)
		check(t, err)
		check(t, os.WriteFile(path+".part", make([]byte, size), 0o600))
	}
	_, err = Pull(context.Background(), host+"/box:v1", dst, Options{})
	check(t, err)
	if got := unpacked(t, dst); !slices.Equal(got, []string{"large", "small"}) {
		t.Errorf("files %q", got)
	}
}

func TestTamperedBlobIsRefused(t *testing.T) {
	host, dst := serve(t, ""), t.TempDir()
	_, err := Push(context.Background(), image(t), host+"/box:v1", Options{})
	check(t, err)
	m := &meddler{meddle: func(r *http.Response) {
		if isBlob(r) {
			r.Body = &flipBody{ReadCloser: r.Body}
		}
	}}
	_, err = Pull(context.Background(), m.before(t, host)+"/box:v1", dst, Options{})
	wantError(t, err, forkbox.Invalid, "sent something else")
	left, err := filepath.Glob(dst + "/blobs/sha256/*")
	if err != nil || len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestTamperedManifestIsRefused(t *testing.T) {
	host, dst := serve(t, ""), filepath.Join(t.TempDir(), "layout")
	_, err := Push(context.Background(), image(t), host+"/box:v1", Options{})
	check(t, err)
	m := &meddler{meddle: func(r *http.Response) {
		if strings.Contains(r.Request.URL.Path, "/manifests/") {
			r.Body = &flipBody{ReadCloser: r.Body}
		}
	}}
	if _, err = Pull(context.Background(), m.before(t, host)+"/box:v1", dst, Options{}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Lstat(dst); err == nil {
		t.Error("something was left")
	}
}

// A registry that has too much to do is asked again.
func TestPassingFailuresAreRetried(t *testing.T) {
	host := serve(t, "")
	failures := 3
	m := &meddler{meddle: func(r *http.Response) {
		if r.Request.Method == http.MethodPut && failures > 0 {
			failures--
			r.StatusCode = http.StatusServiceUnavailable
			r.Body.Close()
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("")), 0
			r.Header.Del("Content-Length")
		}
	}}
	proxy := m.before(t, host)
	_, err := Push(context.Background(), image(t), proxy+"/box:v1", Options{})
	check(t, err)
	_, err = Pull(context.Background(), host+"/box:v1", t.TempDir(), Options{})
	check(t, err)
	if failures > 0 {
		t.Error("nothing failed")
	}
}

// Of a user named u with the password secret.
const users = "u:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n"

func TestRegistryWithPasswords(t *testing.T) {
	host, src := serve(t, users), image(t)
	ref := host + "/box:v1"
	_, err := Push(context.Background(), src, ref, Options{})
	wantError(t, err, forkbox.Denied, "does not let us")
	_, err = Push(context.Background(), src, ref, Options{Credential: Credential{Username: "u", Password: "wrong"}})
	wantError(t, err, forkbox.Denied, "does not let us")
	good := Options{Credential: Credential{Username: "u", Password: "secret"}}
	_, err = Push(context.Background(), src, ref, good)
	check(t, err)
	_, err = Pull(context.Background(), ref, t.TempDir(), Options{})
	wantError(t, err, forkbox.Denied, "does not let us")
	_, err = Pull(context.Background(), ref, t.TempDir(), good)
	check(t, err)
}

// A list of images for several machines: the one for this machine comes.
func TestImageForThisMachineIsPulled(t *testing.T) {
	host, dir := serve(t, ""), t.TempDir()
	l, err := oci.CreateLayout(dir)
	check(t, err)
	index := oci.Index{MediaType: oci.MediaTypeIndex}
	index.SchemaVersion = 2
	for _, arch := range []string{"amd64", "arm64"} {
		d, err := l.AddImage(context.Background(), oci.Image{Ref: arch, Arch: arch}, nil)
		check(t, err)
		_, err = Push(context.Background(), dir, host+"/box:"+arch, Options{Want: oci.Want{Ref: arch, Arch: arch}})
		check(t, err)
		index.Manifests = append(index.Manifests, d)
	}
	data, err := json.Marshal(index)
	check(t, err)
	s, err := newSession(opPush, host+"/box:all", Options{})
	check(t, err)
	defer s.close()
	d := oci.Descriptor{MediaType: index.MediaType, Digest: oci.FromBytes(data), Size: int64(len(data))}
	check(t, s.api.putManifest(context.Background(), d, data, "all"))
	for i, arch := range []string{"amd64", "arm64"} {
		into := t.TempDir()
		got, err := Pull(context.Background(), host+"/box:all", into, Options{Want: oci.Want{Arch: arch}})
		check(t, err)
		if got.Digest != index.Manifests[i].Digest {
			t.Errorf("for %s came %s", arch, got.Digest)
		}
		pulled, err := oci.OpenLayout(into)
		check(t, err)
		im, err := pulled.Image(oci.Want{Arch: arch})
		if err != nil || im.Arch != arch {
			t.Errorf("%+v, %v", im, err)
		}
	}
	_, err = Pull(context.Background(), host+"/box:all", t.TempDir(), Options{Want: oci.Want{Arch: "s390x"}})
	wantError(t, err, forkbox.NotFound, "linux/amd64, linux/arm64")
}

// A registry that falls silent in the middle does not hold us for ever.
func TestSilentRegistryIsGivenUp(t *testing.T) {
	host, dst := serve(t, ""), t.TempDir()
	_, err := Push(context.Background(), image(t), host+"/box:v1", Options{})
	check(t, err)
	before := stall
	stall = 50 * time.Millisecond
	defer func() { stall = before }()
	m := &meddler{meddle: func(r *http.Response) {
		if isBlob(r) && r.ContentLength > 1<<20 {
			r.Body = &silentBody{r.Body, r.Request.Context()}
		}
	}}
	_, err = Pull(context.Background(), m.before(t, host)+"/box:v1", dst, Options{})
	wantError(t, err, forkbox.Unavailable, "nothing moved")
}

func TestPullIsBounded(t *testing.T) {
	host := serve(t, "")
	_, err := Push(context.Background(), image(t), host+"/box:v1", Options{})
	check(t, err)
	_, err = Pull(context.Background(), host+"/box:v1", t.TempDir(), Options{Limit: 1 << 20})
	wantError(t, err, forkbox.Invalid, "more than 1048576 bytes")
}

func TestRegistryThatIsNotThere(t *testing.T) {
	_, err := Pull(context.Background(), "127.0.0.1:1/box:v1", t.TempDir(), Options{})
	wantError(t, err, forkbox.Unavailable, "127.0.0.1:1")
}
