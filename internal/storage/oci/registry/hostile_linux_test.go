package registry

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// shelf is a registry of fixed answers.
type shelf map[string]func(w http.ResponseWriter)

func (s shelf) serve(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := s[strings.TrimPrefix(r.URL.Path, "/v2/box/")]; answer != nil {
			answer(w)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func text(contentType, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func refusal(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnswersAreBoundedAndTold(t *testing.T) {
	endless := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", oci.MediaTypeManifest)
		for _, err := io.WriteString(w, "{"); err == nil; {
			_, err = io.WriteString(w, strings.Repeat(" ", 1<<16))
		}
	}
	wrong := func(w http.ResponseWriter) {
		w.Header().Set(digestHeader, oci.FromBytes(nil).String())
		text(oci.MediaTypeManifest, "{}")(w)
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		code   forkbox.Code
		says   string
	}{
		"endless":   {endless, forkbox.Invalid, "more than the 4194304 bytes"},
		"wrong":     {wrong, forkbox.Invalid, "and should be sha256:e3b0"},
		"type":      {text("", "{}"), forkbox.Invalid, "what kind of manifest"},
		"kind":      {text("text/html; charset=x", "<p>"), forkbox.Unsupported, "text/html"},
		"denied":    {refusal(403, `{"errors":[{"code":"DENIED","message":"not\u001b[1m yours","detail":{"a":1}}]}`), forkbox.Denied, `403 forbidden: denied: not [1m yours: {"a":1}`},
		"busy":      {refusal(503, `{"error":"later","details":"much to do"}`), forkbox.Unavailable, "later; much to do"},
		"page":      {refusal(418, `<html>`), forkbox.Unavailable, "418 i'm a teapot"},
		"challenge": {refusal(401, ""), forkbox.Denied, "401 unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			host := shelf{"manifests/v1": c.answer}.serve(t)
			_, err := Pull(context.Background(), host+"/box:v1", t.TempDir(), Options{})
			wantError(t, err, c.code, c.says)
		})
	}
}

// imageOf is the documents of an image with one layer.
func imageOf(t *testing.T, layer string, digest oci.Digest) (m oci.Manifest, config, manifest string) {
	config = fmt.Sprintf(`{"os":"linux","architecture":%q,"rootfs":{"type":"layers","diff_ids":[%q]}}`, runtime.GOARCH, digest)
	m = oci.Manifest{
		SchemaVersion: 2,
		Config:        oci.Descriptor{MediaType: oci.MediaTypeConfig, Digest: oci.FromBytes([]byte(config)), Size: int64(len(config))},
		Layers:        []oci.Descriptor{{MediaType: oci.MediaTypeLayer, Digest: digest, Size: int64(len(layer))}},
	}
	data, err := json.Marshal(m)
	check(t, err)
	return m, config, string(data)
}

// Layers may be named by another kind of digest than the one we write, and a
// manifest may be asked for by it.
func TestOtherDigests(t *testing.T) {
	layer := "layer"
	sum := func(data string) oci.Digest {
		s := sha512.Sum512([]byte(data))
		return oci.Digest("sha512:" + hex.EncodeToString(s[:]))
	}
	m, config, data := imageOf(t, layer, sum(layer))
	name := sum(data)
	s := shelf{
		"manifests/" + name.String():        text(oci.MediaTypeManifest, data),
		"blobs/" + m.Config.Digest.String(): text("", config),
		"blobs/" + sum(layer).String():      text("", layer),
	}
	dir := t.TempDir()
	_, err := Pull(context.Background(), s.serve(t)+"/box@"+name.String(), dir, Options{})
	check(t, err)
	l, err := oci.OpenLayout(dir)
	check(t, err)
	im, err := l.Image(oci.Want{})
	if err != nil || len(im.Layers) != 1 || l.CheckBlob(context.Background(), im.Layers[0].Descriptor) != nil {
		t.Errorf("%+v, %v", im, err)
	}
	liar := maps.Clone(s)
	liar["blobs/"+sum(layer).String()] = text("", "liar!")
	_, err = Pull(context.Background(), liar.serve(t)+"/box@"+name.String(), t.TempDir(), Options{})
	wantError(t, err, forkbox.Invalid, "sent something else")
}

// A registry that cannot begin in the middle sends all of it again, and one
// that begins somewhere else is not believed.
func TestPartsThatWereNotAskedFor(t *testing.T) {
	blob := "0123456789"
	m, config, data := imageOf(t, blob, oci.FromBytes([]byte(blob)))
	for name, first := range map[string]func(http.ResponseWriter){
		"all of it": text("", blob),
		"elsewhere": func(w http.ResponseWriter) {
			w.Header().Set("Content-Range", "bytes 2-9/10")
			refusal(206, blob[2:])(w)
		},
		"no such":    refusal(416, ""),
		"no address": refusal(206, blob[4:]),
		"as it wants": func(w http.ResponseWriter) {
			w.Header().Set("Content-Range", "bytes 4-9/10")
			refusal(206, blob[4:])(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := shelf{
				"manifests/v1":                      text(oci.MediaTypeManifest, data),
				"blobs/" + m.Config.Digest.String(): text("", config),
				"blobs/" + m.Layers[0].Digest.String(): func(w http.ResponseWriter) {
					if asked++; asked == 1 {
						first(w)
						return
					}
					text("", blob)(w)
				},
			}
			dir := t.TempDir()
			l, err := oci.CreateLayout(dir)
			check(t, err)
			path, err := l.BlobPath(m.Layers[0].Digest)
			check(t, err)
			check(t, os.WriteFile(path+".part", []byte(blob[:4]), 0o600))
			_, err = Pull(context.Background(), s.serve(t)+"/box:v1", dir, Options{})
			check(t, err)
			if got, err := os.ReadFile(path); string(got) != blob || asked > 2 {
				t.Errorf("%q, %v, asked %d times", got, err, asked)
			}
		})
	}
}
