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

// docker makes a configuration, and a helper that says what the registry it is
// asked for is called.
func docker(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	helper := `#!/bin/sh
read host
case $host in
token.example) echo '{"Username":"<token>","Secret":"identity"}' ;;
none.example) echo 'credentials not found in native keychain'; exit 1 ;;
broken.example) echo 'the keys are lost'; exit 1 ;;
*) echo "{\"Username\":\"$1\",\"Secret\":\"$host\"}" ;;
esac
`
	for name, content := range map[string]string{"config.json": config, "docker-credential-fbtest": helper} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

func TestCredentialsInTheFile(t *testing.T) {
	pair := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	dir := docker(t, `{"auths":{"https://old.example/v1/":{"auth":"`+pair+`"},"plain.example":{"username":"a","password":"b"},
		"id.example":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:"))+`","identitytoken":"t"},
		"bad.example":{"auth":"c2VjcmV0"},"odd.example":[]}}`)
	for registry, want := range map[string]Credential{
		"old.example": {Username: "me", Password: "secret"}, "plain.example": {Username: "a", Password: "b"},
		"id.example": {Username: "me", Token: "t"}, "example": {}, "old.example:443": {},
	} {
		if c, err := Credentials(context.Background(), dir, registry); err != nil || c != want {
			t.Errorf("%s: %+v, %v", registry, c, err)
		}
	}
	for _, registry := range []string{"bad.example", "odd.example"} {
		_, err := Credentials(context.Background(), dir, registry)
		if forkbox.CodeOf(err) != forkbox.Invalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", registry, err)
		}
	}
	if c, err := Credentials(context.Background(), docker(t, " \n"), "r.example"); err != nil || c != (Credential{}) {
		t.Errorf("empty: %+v, %v", c, err)
	}
}

func TestCredentialsOfHelpers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helper is a shell script")
	}
	dir := docker(t, `{"auths":{"r.example":{}},"credsStore":"fbtest","credHelpers":{"gone.example":"fbtest-gone"}}`)
	for registry, want := range map[string]Credential{
		"r.example": {Username: "get", Password: "r.example"}, "token.example": {Token: "identity"}, "none.example": {},
	} {
		if c, err := Credentials(context.Background(), dir, registry); err != nil || c != want {
			t.Errorf("%s: %+v, %v", registry, c, err)
		}
	}
	for registry, says := range map[string]string{"broken.example": "the keys are lost", "gone.example": "docker-credential-fbtest-gone"} {
		_, err := Credentials(context.Background(), dir, registry)
		if forkbox.CodeOf(err) != forkbox.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v", registry, err)
		}
	}
}
