package server

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/strictjson"
)

// Vault keeps secrets, each user's apart from all others'. It says what names,
// hosts and values may be.
type Vault interface {
	Set(uid int, secret forkbox.Secret, value []byte) error
	// List has no values.
	List(uid int) ([]forkbox.Secret, error)
	// Remove can be repeated.
	Remove(uid int, name string) error
}

func (s storeRoutes) vault(op string) (Vault, error) {
	if s.Vault == nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "this daemon keeps no secrets")
	}
	return s.Vault, nil
}

func (s storeRoutes) listSecrets(r *http.Request, _ api.None) (list api.SecretList, err error) {
	vault, err := s.vault("list secrets")
	if err != nil {
		return list, err
	}
	secrets, err := vault.List(who(r).UID)
	return api.SecretList{Secrets: notNil(secrets)}, err
}

// setSecret reads its request itself: see secretRequest.
func setSecret(s *Server, w http.ResponseWriter, r *http.Request) error {
	vault, err := storeRoutes{s}.vault("keep a secret")
	if err != nil {
		return err
	}
	req, err := secretRequest(r)
	if err != nil {
		return err
	}
	value := []byte(req.Value)
	defer clear(value)
	if err := vault.Set(who(r).UID, forkbox.Secret{Name: r.PathValue("secret"), Hosts: req.Hosts}, value); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// removeSecret tells who slipped in a name: the vault itself does not mind one
// that is not there.
func (s storeRoutes) removeSecret(r *http.Request, _ api.None) (none api.None, err error) {
	op, name := "remove secret "+r.PathValue("secret"), r.PathValue("secret")
	vault, err := s.vault(op)
	if err != nil {
		return none, err
	}
	list, err := vault.List(who(r).UID)
	if err != nil {
		return none, err
	}
	if !slices.ContainsFunc(list, func(s forkbox.Secret) bool { return s.Name == name }) {
		return none, forkbox.Errorf(forkbox.NotFound, op, "there is none of that name").Hint("see: forkbox secret ls")
	}
	return none, vault.Remove(who(r).UID, name)
}

// secretRequest reads a value that must not turn up in an answer or in the log,
// where errors go: a decoder's own words may quote what it has read, so the
// client never gets to see them.
func secretRequest(r *http.Request) (req api.SecretRequest, err error) {
	const op = "keep a secret"
	text, err := io.ReadAll(r.Body)
	defer clear(text)
	switch {
	case err != nil:
		return req, badRequest(err)
	case !utf8.Valid(text) || strictjson.DecodeExactly(text, &req) != nil:
		return api.SecretRequest{}, forkbox.Errorf(forkbox.Invalid, op, "the request is not understood").
			Hint(`it is {"value": "…", "hosts": ["api.example.com"]}, in UTF-8, and nothing else`)
	case strings.ContainsRune(req.Value, utf8.RuneError):
		// Half a surrogate pair: another value would be kept than was sent.
		return api.SecretRequest{}, forkbox.Errorf(forkbox.Invalid, op, "the value has characters that are none")
	case req.Value == "":
		return api.SecretRequest{}, forkbox.Errorf(forkbox.Invalid, op, "it has no value")
	case len(req.Hosts) == 0:
		return api.SecretRequest{}, forkbox.Errorf(forkbox.Invalid, op, "it does not say which hosts it is sent to")
	}
	return req, nil
}
