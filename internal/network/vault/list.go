package vault

import (
	"errors"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
)

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
