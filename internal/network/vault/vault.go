// Package vault keeps the secrets of a host's users, encrypted, in files.
//
//	DIR/key          32 random bytes, made once
//	DIR/lock         held while something is written
//	DIR/UID/NAME     one secret of one user
//
// A secret's file is "forkbox-secret-1\n", a nonce, and AES-256-GCM of what the
// secret is bound to and its value. The owner's uid and the secret's name are
// authenticated along: a file that was moved to another user or another name
// does not open, and neither does one whose hosts were rewritten. Going back to
// an older file of the same secret is not noticed; who can do that can also
// read the key.
//
// Every file is written beside its place, synced and renamed, so that a crash
// leaves the old value or the new one. What cannot be opened is never
// overwritten: with the right key it may be worth something.
//
// # Why a file and not the keyring of the operating system
//
// The gate needs secrets while no user is logged in: the daemon of a server has
// no session, no D-Bus and no user who could unlock a keyring, and the kernel's
// own keyrings forget at a reboot. The key is therefore a file that only the
// daemon's user can read, as the keys of ssh and TLS servers are. It protects
// copies of the secrets' files (a backup, a synced directory) that lack the
// key; it does not protect from who can read files as the daemon's user. A
// desktop's keyring would add that the secrets are shut until the user logs in,
// and that a copy of the whole directory is worth nothing.
package vault

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// MaxValue is how long a secret may be: whole certificates fit, and a header
// that servers accept is shorter still.
const MaxValue = 64 << 10

// mostSecrets is how many a user may have: they lie in the daemon's home.
const mostSecrets = 256

// Vault is an opened directory of secrets. It can be used by several goroutines,
// and several processes can have it open.
type Vault struct {
	dir  string
	key  []byte
	lock sync.Mutex
	now  func() time.Time
}

// Open opens the vault in dir, and makes it if there is none. It refuses a
// directory or a key that another user can read, and a vault that has secrets
// and no key: a new key would not open them.
func Open(dir string) (*Vault, error) {
	v := &Vault{dir: dir, now: time.Now}
	if err := prepare(dir); err != nil {
		return nil, forkbox.Wrap("open the vault", err)
	}
	err := v.withLock(func() error {
		sweep(dir)
		var err error
		v.key, err = openKey(dir)
		return err
	})
	if err != nil {
		return nil, forkbox.Wrap("open the vault", err)
	}
	return v, nil
}

// Set stores a secret's value, and the hosts it is for. A secret that was there
// keeps the date it was made; one that cannot be opened stays as it is.
func (v *Vault) Set(uid int, s forkbox.Secret, value []byte) error {
	const op = "set a secret"
	s, err := checked(uid, s, value)
	if err != nil {
		return err
	}
	return forkbox.Wrap(op, v.withLock(func() error { return v.replace(uid, s, value) }))
}

func (v *Vault) replace(uid int, s forkbox.Secret, value []byte) error {
	s.Updated = v.now().UTC()
	s.Created = s.Updated
	old, was, err := v.Get(uid, s.Name)
	clear(was)
	switch {
	case err == nil:
		s.Created = old.Created
	case forkbox.CodeOf(err) != forkbox.NotFound:
		return err
	case v.count(uid) >= mostSecrets:
		return forkbox.Errorf(forkbox.Busy, "set secret "+s.Name, "there are %d already, which is the most", mostSecrets).
			Hint("forkbox secret rm NAME")
	}
	sealed, err := seal(v.key, uid, s, value)
	if err != nil {
		return err
	}
	return write(v.dir, v.ownerDir(uid), s.Name, sealed)
}

// Get returns a secret and its value. The caller clears the value after use.
func (v *Vault) Get(uid int, name string) (forkbox.Secret, []byte, error) {
	if err := checkName(uid, name); err != nil {
		return forkbox.Secret{}, nil, err
	}
	op := "read secret " + name
	sealed, err := readOwn(filepath.Join(v.ownerDir(uid), name), maxFile)
	if os.IsNotExist(err) {
		return forkbox.Secret{}, nil, forkbox.Errorf(forkbox.NotFound, op, "there is none of that name").
			Hint("keep one first: forkbox secret set %s --host HOST", name)
	}
	if err != nil {
		return forkbox.Secret{}, nil, forkbox.Wrap(op, err)
	}
	return open(v.key, uid, name, sealed)
}

// Remove forgets a secret. That there is none is fine.
func (v *Vault) Remove(uid int, name string) error {
	if err := checkName(uid, name); err != nil {
		return err
	}
	return forkbox.Wrap("remove secret "+name, v.withLock(func() error {
		return remove(v.ownerDir(uid), name)
	}))
}

func (v *Vault) ownerDir(uid int) string { return filepath.Join(v.dir, strconv.Itoa(uid)) }

// Placeholder makes what a box is given in place of a value. It is random, so
// that nothing else in a request can be taken for it.
func Placeholder() string {
	var random [16]byte
	rand.Read(random[:])
	return "forkbox-secret-" + hex.EncodeToString(random[:])
}

// List returns a user's secrets by name, without their values. Where some cannot
// be opened it returns the others, and an error that names each.
func (v *Vault) List(uid int) ([]forkbox.Secret, error) {
	entries, err := os.ReadDir(v.ownerDir(uid))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, forkbox.Wrap("list secrets", err)
	}
	var list []forkbox.Secret
	var broken []error
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue // being written
		}
		secret, value, err := v.Get(uid, entry.Name())
		clear(value)
		switch {
		case err == nil:
			list = append(list, secret)
		case forkbox.CodeOf(err) != forkbox.NotFound: // removed meanwhile
			broken = append(broken, err)
		}
	}
	return list, brokenList(broken)
}

// count is how many secrets a user has, such as cannot be opened included.
func (v *Vault) count(uid int) int {
	entries, _ := os.ReadDir(v.ownerDir(uid))
	return len(entries)
}

// brokenList is one error of many, each with its own reason.
func brokenList(broken []error) error {
	switch len(broken) {
	case 0:
		return nil
	case 1:
		return broken[0]
	}
	err := forkbox.Errorf(forkbox.CodeOf(broken[0]), "list secrets", "%d of them cannot be opened", len(broken))
	for _, each := range broken {
		var e *forkbox.Error
		if errors.As(each, &e) {
			err.About(e.Op, e.Why)
		}
	}
	return err
}
