package registry

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestParse(t *testing.T) {
	sum := "sha256:" + strings.Repeat("a", 64)
	for name, want := range map[string]string{
		"localhost/box":                        "localhost/box:latest",
		"localhost:5000/team/box:v1":           "localhost:5000/team/box:v1",
		"r.example/box@" + sum:                 "r.example/box@" + sum,
		"r.example/box:v1@" + sum:              "r.example/box@" + sum,
		"[::1]:5000/box:v1":                    "[::1]:5000/box:v1",
		"r.example/a.b/c_d/e__f/g---h0:_V.1-x": "r.example/a.b/c_d/e__f/g---h0:_V.1-x",
	} {
		r, err := Parse(name)
		if err != nil || r.String() != want {
			t.Errorf("%s: %q, %v", name, r, err)
		}
	}
	for name, why := range map[string]string{
		"": "no registry", "box": "no registry", "box:v1": "no registry", "team/box:v1": "team is not the name of a host",
		"https://r.example/box": "URL", "r.example/": "no repository", "r.example/Box:v1": "repository", "r.example/box:a b": "",
		"r.example/box:": "", "r.example/../x": "", "r.example/box@sha256:12": "", "-r.example /x": "",
		"r.example/a..b": "repository", "r.example/a___b": "repository", "r.example/-a": "repository", "r.example/a-/b": "repository", "r.example/a//b": "repository", "r.example/ä": "repository",
		"r.example/box:.v": "tag", "r.example/box:-v": "tag", "r.example/box:ä": "tag", "r.example/box:a:b": "tag", "r.example/box:" + strings.Repeat("a", 129): "tag",
		"r.example/box@md5:12": "digest", "r.example/box@": "", "u@r.example/box": "host", ":5000/box": "host", "r.example:/box": "host", "r.example:x/box": "host",
	} {
		_, err := Parse(name)
		if forkbox.CodeOf(err) != forkbox.Invalid || err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: error %v; want %q", name, err, why)
		}
	}
}

func TestPlainHTTPOnlyOnThisMachine(t *testing.T) {
	for name, local := range map[string]bool{
		"localhost/x": true, "localhost:5000/x": true, "127.0.0.1:5000/x": true, "[::1]:5000/x": true,
		"localhost.example/x": false, "127.0.0.1.example:5000/x": false, "r.example/x": false, "10.0.0.1:5000/x": false,
	} {
		r, err := Parse(name)
		if err != nil || r.local() != local {
			t.Errorf("%s: local %v, %v", name, r.local(), err)
		}
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	get := func(registry string) Credential {
		t.Helper()
		c, err := Credentials(context.Background(), dir, registry)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := get("r.example"); c != (Credential{}) {
		t.Errorf("from no file: %+v", c)
	}
	auth := base64.StdEncoding.EncodeToString([]byte("me:pass:word"))
	config := `{"auths":{"r.example:5000":{"auth":"` + auth + `"}},"credHelpers":{"h.example":"fbtest"}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := get("r.example:5000"); c != (Credential{Username: "me", Password: "pass:word"}) {
		t.Errorf("from the file: %+v", c)
	}
	if c := get("other.example"); c != (Credential{}) {
		t.Errorf("of another: %+v", c)
	}
	if runtime.GOOS == "windows" {
		return
	}
	// The protocol: the registry on standard input, JSON on standard output.
	helper := "#!/bin/sh\n[ \"$1\" = get ] || exit 1\nread host\necho \"{\\\"ServerURL\\\":\\\"$host\\\",\\\"Username\\\":\\\"at-$host\\\",\\\"Secret\\\":\\\"s\\\"}\"\n"
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-fbtest"), []byte(helper), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if c := get("h.example"); c != (Credential{Username: "at-h.example", Password: "s"}) {
		t.Errorf("from the helper: %+v", c)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Credentials(context.Background(), dir, "r.example"); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("of a damaged file: %v", err)
	}
}
