package vault

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

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
