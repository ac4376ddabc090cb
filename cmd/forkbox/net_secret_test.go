//go:build linux

package main

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretWorld has a secret that is bound to a host.
type secretWorld struct {
	*netWorld
	value           string
	api, other, box string
}

func newSecretWorld(t *testing.T) secretWorld {
	w := newNetWorld(t)
	s := secretWorld{netWorld: w, value: "v4lue-" + strings.ReplaceAll(w.Server4, ".", "-") + "-0123456789abcdef", api: w.name("api"), other: w.name("other")}
	s.keep("TOKEN", s.value, s.api)
	s.box = w.makeBox("agent", "--secret", "TOKEN", "--allow", s.api, "--allow", s.other, "--terminate", s.other)
	return s
}

// keep is `forkbox secret set`, with the value on its stdin.
func (w *netWorld) keep(name, value, host string) {
	w.Helper()
	cmd := w.command("secret", "set", name, "--host", host)
	cmd.Stdin = strings.NewReader(value + "\n")
	if out, err := combined(cmd); err != nil || strings.Contains(out, value) {
		w.Fatalf("secret set: %v %s\n%s", err, out, w.log())
	}
}

// sent is the X-Key of the last request that a host got.
func (s secretWorld) sent(host string) string {
	s.Helper()
	got := s.got(host)
	if len(got) == 0 {
		s.Fatalf("%s got no request\n%s", host, s.conns(s.box))
	}
	return got[len(got)-1].Header.Get("X-Key")
}

// hides says that the secret is in none of the texts, in no form.
func (s secretWorld) hides(what string, texts ...string) {
	s.Helper()
	for _, text := range texts {
		for _, form := range []string{s.value, base64.StdEncoding.EncodeToString([]byte(s.value)), base64.RawURLEncoding.EncodeToString([]byte(s.value))[:30]} {
			if strings.Contains(text, form) {
				s.Errorf("%s: the secret is in %.400q", what, text)
			}
		}
	}
}

// TestPromise8SecretsAreNeverHeld: the server gets the secret, and the box never
// sees it: not in its environment, not in any answer.
func TestPromise8SecretsAreNeverHeld(t *testing.T) {
	t.Parallel()
	s := newSecretWorld(t)
	placeholder := s.works(s.box, sh(`echo $TOKEN`)...)
	if placeholder == "" || !strings.HasPrefix(placeholder, "forkbox-secret-") {
		t.Fatalf("TOKEN in the box is %q", placeholder)
	}
	for _, as := range []string{"json", "header", "base64", "bytewise", "trailer"} {
		for _, proto := range []string{"--http1.1", "--http2"} {
			out, err := s.in(s.box, sh(`curl -sS -D - `+proto+` --compressed -H "X-Key: $TOKEN" "https://$1/reflect?as=$2"`, s.api, as)...)
			s.hides(as+" "+proto, out)
			if got := s.sent(s.api); got != s.value {
				t.Errorf("%s %s: the server got %q (%v %s)", as, proto, got, err, out)
			}
		}
	}
	out := s.works(s.box, sh(`curl -sSf -u "user:$TOKEN" https://$1/reflect`, s.api)...)
	got := s.got(s.api)
	if basic := got[len(got)-1].Header.Get("Authorization"); basic != "Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+s.value)) {
		t.Errorf("as a password the server got %q", basic)
	}
	s.hides("as a password", out, s.works(s.box, "env"), s.works(s.box, sh(`cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n'`)...))
	s.hides("on the host", s.must("show", s.box, "--json"), s.must("net", "show", s.box, "--json"), s.must("net", "log", s.box, "--json"),
		s.must("net", "log", s.box), s.must("secret", "ls", "--json"), s.must("secret", "ls"), s.must("events", "--json"), s.log())
	s.notInFiles()
}

// notInFiles looks through all that the daemon keeps: the ledger, logs, and the
// store of secrets itself.
func (s secretWorld) notInFiles() {
	s.Helper()
	seen := 0
	err := filepath.WalkDir(filepath.Dir(s.home), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		seen++
		if bytes.Contains(raw, []byte(s.value)) || bytes.Contains(raw, []byte(base64.StdEncoding.EncodeToString([]byte(s.value)))) {
			s.Errorf("the secret is in %s", path)
		}
		return nil
	})
	s.ok(err)
	if seen < 3 {
		s.Errorf("there were only %d files to look at", seen)
	}
}

// TestPromise8SecretsGoOnlyWhereTheyBelong: other hosts get the placeholder, and
// so does the right one where others could listen.
func TestPromise8SecretsGoOnlyWhereTheyBelong(t *testing.T) {
	t.Parallel()
	s := newSecretWorld(t)
	placeholder := s.works(s.box, sh(`echo $TOKEN`)...)
	s.works(s.box, sh(`curl -sSf -H "X-Key: $TOKEN" https://$1/reflect`, s.other)...)
	if got := s.sent(s.other); got != placeholder {
		t.Errorf("another host got %q", got)
	}
	_, _ = s.in(s.box, sh(`curl -sS -H "X-Key: $TOKEN" http://$1/reflect`, s.api)...)
	for _, r := range s.got(s.api) {
		if r.SNI == "" && r.Header.Get("X-Key") == s.value {
			t.Errorf("it went over the wire in clear: %+v", r)
		}
	}
	out := s.works(s.box, sh(`curl -sSfL --location-trusted -H "X-Key: $TOKEN" "https://$1/redirect?to=https://$2/reflect"`, s.api, s.other)...)
	if got := s.sent(s.other); got != placeholder {
		t.Errorf("where a redirect led got %q: %s", got, out)
	}
	s.must("fork", s.box, "child")
	if mine := s.works("child", sh(`echo $TOKEN`)...); mine == placeholder {
		t.Error("a fork has its parent's placeholder")
	}
	s.works("child", sh(`curl -sSf -H "X-Key: $2" https://$1/reflect`, s.api, placeholder)...)
	if got := s.sent(s.api); got != placeholder {
		t.Errorf("with its parent's placeholder a fork had the server get %q", got)
	}
	s.works("child", sh(`curl -sSf -H "X-Key: $TOKEN" https://$1/reflect`, s.api)...)
	if got := s.sent(s.api); got != s.value {
		t.Errorf("with its own the server got %q", got)
	}
	before := len(s.got(s.api))
	s.must("secret", "rm", "TOKEN")
	_, _ = s.in(s.box, sh(`curl -sSk -H "X-Key: $TOKEN" https://$1/reflect`, s.api)...)
	for _, r := range s.got(s.api)[before:] {
		if r.Header.Get("X-Key") == s.value {
			t.Error("a secret that was removed is still sent")
		}
	}
}

// TestSecretVerbs: what is wrong is refused before anything is kept.
func TestSecretVerbs(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	w.refused([]string{"host"}, "secret", "set", "TOKEN")
	w.refused([]string{"variable"}, "secret", "set", "a-b", "--host", "api.example")
	w.refused(nil, "new", "--name", "x", "--secret", "NOBODY")
	w.refused(nil, "secret", "rm", "NOBODY")
	cmd := w.command("secret", "set", "TOKEN", "--host", "api.example")
	cmd.Stdin = strings.NewReader("two\r\nlines: of a header")
	if out, err := combined(cmd); err == nil {
		t.Errorf("a value that ends a header is kept: %s", out)
	}
	w.keep("TOKEN", "some value", "api.example")
	if out := w.must("secret", "ls"); !strings.Contains(out, "TOKEN") || !strings.Contains(out, "api.example") || strings.Contains(out, "some value") {
		t.Errorf("secret ls says %s", out)
	}
}
