package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Credential is who we are to a registry; zero is anonymous.
type Credential struct {
	Username string
	Password string
	Token    string // instead of a password, where a helper has one
}

// dockerConfig is what docker's config.json says of passwords.
type dockerConfig struct {
	Auths   map[string]json.RawMessage `json:"auths"`       // a login each
	Store   string                     `json:"credsStore"`  // the program for all registries
	Helpers map[string]string          `json:"credHelpers"` // and those for some
}

type login struct {
	Auth     string `json:"auth"` // NAME:PASSWORD in base64
	Username string `json:"username"`
	Password string `json:"password"`
	Token    string `json:"identitytoken"`
}

// Credentials looks up who we are in docker's configuration: its config.json
// holds passwords, or names the program (docker-credential-NAME) that knows
// them. That there are none is no error.
func Credentials(ctx context.Context, dockerConfigDir, registry string) (Credential, error) {
	const op = "find the password for the registry"
	path := filepath.Join(dockerConfigDir, "config.json")
	config, err := readConfig(path)
	if err != nil {
		return Credential{}, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	c, err := config.lookUp(ctx, registry)
	if err != nil {
		return Credential{}, forkbox.Errorf(forkbox.Invalid, op, "%s: %w", registry, err).Hint("see what %s says of it", path)
	}
	return c, nil
}

func readConfig(path string) (config dockerConfig, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(data)) == 0 {
		return config, nil
	}
	if err != nil {
		return config, err
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return config, forkbox.Errorf(forkbox.Invalid, "read "+path, "it is damaged: %w", err)
	}
	return config, nil
}

func (c dockerConfig) lookUp(ctx context.Context, registry string) (Credential, error) {
	if helper := c.Helpers[registry]; helper != "" {
		return askHelper(ctx, helper, registry)
	}
	if c.Store != "" {
		return askHelper(ctx, c.Store, registry)
	}
	if l, ok := c.Auths[registry]; ok {
		return parseLogin(l)
	}
	for _, address := range slices.Sorted(maps.Keys(c.Auths)) {
		if hostOf(address) == registry {
			return parseLogin(c.Auths[address])
		}
	}
	return Credential{}, nil
}

// hostOf is for entries of old: "https://r.example/v1/".
func hostOf(address string) string {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "http://"), "https://")
	host, _, _ := strings.Cut(address, "/")
	return host
}

func parseLogin(data []byte) (Credential, error) {
	var l login
	if err := json.Unmarshal(data, &l); err != nil {
		return Credential{}, errors.New("its entry is damaged")
	}
	c := Credential{Username: l.Username, Password: l.Password, Token: l.Token}
	if l.Auth == "" {
		return c, nil
	}
	pair, err := base64.StdEncoding.DecodeString(l.Auth)
	name, password, ok := strings.Cut(string(pair), ":")
	if err != nil || !ok { // without what was in it: it is secret
		return Credential{}, errors.New(`its "auth" is not a name and a password in base64`)
	}
	c.Username, c.Password = name, password
	return c, nil
}

// askHelper speaks the protocol of docker's helpers: the registry on standard
// input, JSON on standard output, words there if it fails.
func askHelper(ctx context.Context, name, registry string) (Credential, error) {
	cmd := exec.CommandContext(ctx, "docker-credential-"+name, "get")
	cmd.Stdin, cmd.Stderr = strings.NewReader(registry), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return Credential{}, helperFailure(cmd.Args[0], err, out)
	}
	var found struct{ Username, Secret string }
	if err := json.Unmarshal(out, &found); err != nil {
		return Credential{}, errors.New(cmd.Args[0] + " did not answer in JSON")
	}
	if found.Username == "<token>" {
		return Credential{Token: found.Secret}, nil
	}
	return Credential{Username: found.Username, Password: found.Secret}, nil
}

// helperFailure is nothing where a helper merely has no password.
func helperFailure(name string, err error, out []byte) error {
	var exit *exec.ExitError
	words := string(bytes.TrimSpace(out))
	switch {
	case words == "credentials not found in native keychain":
		return nil
	case errors.As(err, &exit) && words != "":
		return errors.New(name + ": " + printable(words))
	}
	return err
}
