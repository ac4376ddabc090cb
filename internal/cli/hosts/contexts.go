// Package hosts remembers daemons on other machines by name, and knows which one a
// command is meant for.
package hosts

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// Context is a daemon that is known by a name. The token is in the file too,
// which only its owner can read.
type Context struct {
	Name        string `json:"name"`
	URL         string `json:"url"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Token       string `json:"token,omitempty"`
}

// Remote is how it is reached.
func (c Context) Remote() client.Remote {
	return client.Remote{URL: c.URL, Token: c.Token, Pin: c.Fingerprint}
}

// Contexts are all that are known, and which of them verbs use that are given no
// host; empty is this machine.
type Contexts struct {
	Current string    `json:"current,omitempty"`
	List    []Context `json:"contexts"`
}

// File is where they are kept.
func File() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, "find the contexts", "%w", err).Hint("set HOME or XDG_CONFIG_HOME")
	}
	return filepath.Join(dir, "forkbox", "contexts.json"), nil
}

// Load reads them; there are none where there is no file.
func Load() (all Contexts, err error) {
	const op = "read the contexts"
	path, err := File()
	if err != nil {
		return all, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, forkbox.Wrap(op, err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && keepsModes {
		return all, forkbox.Errorf(forkbox.Denied, op, "others can read %s, and tokens are in it", path).Hint("chmod 600 %s", path)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return all, forkbox.Errorf(forkbox.Invalid, op, "%s: %w", path, err).Hint("mend it, or remove it and add them again")
	}
	return all, nil
}

// Save replaces the file as a whole.
func (all Contexts) Save() error {
	const op = "keep the contexts"
	path, err := File()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return forkbox.Wrap(op, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".contexts-") // 0600
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return forkbox.Wrap(op, err)
}

// Find is the one of a name.
func (all Contexts) Find(name string) (Context, bool) {
	for _, c := range all.List {
		if c.Name == name {
			return c, true
		}
	}
	return Context{}, false
}

// Put adds one, in place of the one of its name.
func (all *Contexts) Put(c Context) {
	all.Remove(c.Name)
	all.List = append(all.List, c)
}

// Remove forgets one, and says whether there was one.
func (all *Contexts) Remove(name string) bool {
	for i, c := range all.List {
		if c.Name == name {
			all.List = append(all.List[:i:i], all.List[i+1:]...)
			return true
		}
	}
	return false
}

// CheckName refuses what cannot be told from a URL or from this machine.
func CheckName(name string) error {
	if name == Local || !isName(name) {
		return forkbox.Errorf(forkbox.Invalid, "name a context", "a context cannot be called %q", name).
			Hint("it has up to 63 lower-case letters, digits, dots and dashes, and is not %q", Local)
	}
	return nil
}

// isName: a pattern would have to be compiled at every start.
func isName(text string) bool {
	for i, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return text != "" && len(text) <= 63
}

// Local is the name of this machine's own daemon, which no context has.
const Local = "local"

// Resolve is the daemon that host names, a URL or a context; nil is this
// machine's own. env are FORKBOX_HOST and FORKBOX_TOKEN. A host that is given
// comes before the variable, and that before the context in use.
func Resolve(host string, env func(string) string) (*client.Remote, error) {
	if host == "" {
		host = env("FORKBOX_HOST")
	}
	if host == Local {
		return nil, nil
	}
	all, err := Load()
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = all.Current
	}
	if host == "" {
		return nil, nil
	}
	found, ok := all.Find(host)
	if !ok {
		for _, c := range all.List { // a URL that is known by a name has its token and pin
			if c.URL == host {
				found, ok = c, true
			}
		}
	}
	if !ok && isName(host) {
		return nil, forkbox.Errorf(forkbox.NotFound, "reach "+host, "there is no context of that name").
			Hint("see: forkbox context ls").Hint("a URL begins with https://")
	}
	remote := client.Remote{URL: host}
	if ok {
		remote = found.Remote()
	}
	if token := env("FORKBOX_TOKEN"); token != "" {
		remote.Token = token
	}
	return &remote, nil
}
