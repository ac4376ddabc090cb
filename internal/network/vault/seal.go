package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

const (
	magic   = "forkbox-secret-1\n"
	maxFile = MaxValue + 128<<10 // names and hosts are short
)

// seal encrypts a secret: the length of what describes it, that, and the value,
// which so never goes through an encoder that keeps copies.
func seal(key []byte, uid int, s forkbox.Secret, value []byte) ([]byte, error) {
	about, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	plain := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(about)+len(value)), uint32(len(about)))
	plain = append(append(plain, about...), value...)
	defer clear(plain)
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	return gcm.Seal([]byte(magic), nil, plain, bound(uid, s.Name)), nil
}

// open is seal's reverse. What it does not know it leaves alone and says so.
func open(key []byte, uid int, name string, sealed []byte) (forkbox.Secret, []byte, error) {
	var s forkbox.Secret
	body, ours := bytes.CutPrefix(sealed, []byte(magic))
	if !ours {
		return s, nil, broken(name, "its file is not one of forkbox's, or of a later version")
	}
	gcm, err := newGCM(key)
	if err != nil {
		return s, nil, err
	}
	plain, err := gcm.Open(nil, nil, body, bound(uid, name))
	if err != nil {
		return s, nil, broken(name, "its file was altered, cut short, is another secret's or was made with another key")
	}
	defer clear(plain)
	return parseSecret(name, plain)
}

func parseSecret(name string, plain []byte) (s forkbox.Secret, value []byte, err error) {
	if len(plain) < 4 || uint64(len(plain)-4) < uint64(binary.BigEndian.Uint32(plain)) {
		return s, nil, broken(name, "what is in its file makes no sense")
	}
	end := 4 + int(binary.BigEndian.Uint32(plain))
	if err := json.Unmarshal(plain[4:end], &s); err != nil || s.Name != name {
		return forkbox.Secret{}, nil, broken(name, "what is in its file makes no sense")
	}
	return s, bytes.Clone(plain[end:]), nil
}

func broken(name, why string) error {
	return forkbox.Errorf(forkbox.Internal, "read secret "+name, "%s", why).
		Hint("the file is left as it is: put back the right one or the right key, or forkbox secret rm %s and set it anew", name)
}

// bound is what a file belongs to: a user and a name.
func bound(uid int, name string) []byte { return fmt.Appendf(nil, "%s%d\x00%s", magic, uid, name) }

// newGCM draws a nonce of its own for each file; with a few writes in a vault's
// life two never meet.
func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

const (
	keyFile = "key"
	keySize = 32
)

// openKey reads the key, and makes one for a vault that is empty.
func openKey(dir string) ([]byte, error) {
	file := filepath.Join(dir, keyFile)
	key, err := readOwn(file, keySize)
	if os.IsNotExist(err) {
		return newKey(dir)
	}
	if err != nil {
		return nil, err
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("the key %s has %d bytes instead of %d", file, len(key), keySize)
	}
	return key, nil
}

func newKey(dir string) ([]byte, error) {
	if lost, err := hasSecrets(dir); err != nil {
		return nil, err
	} else if lost != "" {
		return nil, forkbox.Errorf(forkbox.Internal, "open the vault", "%s is missing, and there are secrets that only it opens (%s)",
			filepath.Join(dir, keyFile), lost).Hint("put the key back, or remove the secrets' files")
	}
	key := make([]byte, keySize)
	rand.Read(key)
	return key, write(dir, dir, keyFile, key)
}

// hasSecrets names one, if there is any.
func hasSecrets(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(globbed(dir), "*", "[A-Za-z_]*"))
	if err != nil || len(files) == 0 {
		return "", err
	}
	return files[0], nil
}

// globbed is a path in which nothing is a pattern.
func globbed(path string) string {
	var quoted []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			quoted = append(quoted, '\\')
		}
		quoted = append(quoted, path[i])
	}
	return string(quoted)
}
