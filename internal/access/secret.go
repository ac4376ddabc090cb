package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// A token is fbx_ID_SECRET. The prefix is for scanners that look for secrets in
// what people publish; the id is public, and says which token to revoke.
const (
	tokenPrefix = "fbx_"
	idLength    = 12
	secretBytes = 32
)

var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

var secretLength = letters.EncodedLen(secretBytes)

// newSecret makes a token's id and secret.
func newSecret() (id, secret string) {
	random := make([]byte, 8+secretBytes)
	rand.Read(random) // it never fails: see its documentation
	return letters.EncodeToString(random[:8])[:idLength], letters.EncodeToString(random[8:])
}

func writeToken(id, secret string) string { return tokenPrefix + id + "_" + secret }

// parseToken takes a token apart. There is one way to write each.
func parseToken(text string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok || len(rest) != idLength+1+secretLength || rest[idLength] != '_' {
		return "", "", false
	}
	id, secret = rest[:idLength], rest[idLength+1:]
	if !isLetters(id) || !isLetters(secret) {
		return "", "", false
	}
	return id, secret, true
}

func isLetters(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// hashSecret is what is kept of a secret. Of 256 random bits a plain hash is
// enough: there is nothing to guess.
func hashSecret(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// ParseBearer is the token of an Authorization header: "Bearer TOKEN", the first
// word in any case.
func ParseBearer(header string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.Trim(token, " ")
	return token, token != "" && !strings.ContainsAny(token, " \t,")
}
