package replay

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"github.com/forkbox/forkbox"
)

// Longest is how many characters a key may have, and Random how many one at least
// has of which it can be believed that it cannot be guessed.
const (
	Longest = 200
	Random  = 22
)

// Key is what a caller calls one request of its own.
type Key struct {
	text   string
	caller string // what tells callers apart
	uid    int    // whom the request is done for
}

// ParseKey reads the key of a caller's request.
func ParseKey(text, caller string, uid int) (Key, error) {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			text = ""
			break
		}
	}
	if text == "" || len(text) > Longest {
		return Key{}, forkbox.Errorf(forkbox.Invalid, "understand the request", "its key is not 1 to %d printable characters of ASCII", Longest).
			Hint("a UUID is a good one")
	}
	return Key{text, caller, uid}, nil
}

// Guessable says that the key is too short to keep a secret with.
func (k Key) Guessable() bool { return len(k.text) < Random }

// Three things are made of a key, each with a word of its own: none of them tells
// anything about the key or another.
func (k Key) derive(word string) hash.Hash {
	h := hmac.New(sha256.New, []byte(k.text))
	h.Write([]byte(word + "\x00" + k.caller + "\x00"))
	return h
}

// id is what the ledger knows the request by.
func (k Key) id() string { return hex.EncodeToString(k.derive("id").Sum(nil)) }

// Print takes what is asked; its sum tells whether a repeat asks the same. A body
// may have a secret in it: who does not have the key cannot even try guesses.
func (k Key) Print() hash.Hash { return k.derive("print") }

// seal closes an answer so that only the key opens it.
func (k Key) seal(answer []byte) []byte {
	return k.cipher().Seal(nil, nil, answer, nil)
}

func (k Key) open(sealed []byte) ([]byte, error) {
	return k.cipher().Open(nil, nil, sealed, nil)
}

func (k Key) cipher() cipher.AEAD {
	block, err := aes.NewCipher(k.derive("seal").Sum(nil))
	if err != nil {
		panic(err) // of 32 bytes it never fails
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // as above
	}
	return aead
}
