package vault

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
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
// directory or a key that anybody else can read, and a vault that has secrets
// and no key: a new key would not open them.
func Open(dir string) (*Vault, error) {
	v := &Vault{dir: dir, now: time.Now}
	if err := prepare(dir); err != nil {
		return nil, forkbox.Wrap("open the vault", err)
	}
	err := v.alone(func() error {
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
	return forkbox.Wrap(op, v.alone(func() error { return v.replace(uid, s, value) }))
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
	return forkbox.Wrap("remove secret "+name, v.alone(func() error {
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
