package access

import (
	"crypto/x509"
	"time"

	"github.com/forkbox/forkbox"
)

// Client is whom a TLS client certificate acts for, and what it may.
type Client struct {
	User   string // name or uid
	Scopes []string
}

// Clients are by the name in the certificate.
type Clients map[string]Client

// Certified finds who a certificate, which TLS has verified, acts for.
func (c Clients) Certified(leaf *x509.Certificate, users *Users) (*Principal, error) {
	const op = "know who is asking"
	// TLS has looked at the beginning of the connection, which may last.
	if ends := leaf.NotAfter; !time.Now().Before(ends) {
		return nil, forkbox.Errorf(forkbox.Unauthenticated, op, "the certificate expired at %s", ends.UTC().Format(time.RFC3339))
	}
	for _, name := range certifiedNames(leaf) {
		client, ok := c[name]
		if !ok {
			continue
		}
		owner, err := users.ByName(client.User)
		if err != nil {
			return nil, forkbox.Errorf(forkbox.Unauthenticated, op, "the user of the certificate's name is not known: %w", err)
		}
		scopes, err := ParseScopes(client.Scopes)
		if err != nil {
			return nil, err
		}
		return &Principal{Owner: owner, Kind: Certificate, ID: name, Scopes: scopes, Until: &leaf.NotAfter}, nil
	}
	return nil, forkbox.Errorf(forkbox.Unauthenticated, op, "no name in the certificate is one that config.yaml has under serve.clients").
		Hint("serve: {clients: {NAME: {user: USER, scopes: [read]}}}")
}

func certifiedNames(leaf *x509.Certificate) []string {
	names := append([]string{}, leaf.DNSNames...)
	names = append(names, leaf.EmailAddresses...)
	for _, uri := range leaf.URIs {
		names = append(names, uri.String())
	}
	if leaf.Subject.CommonName != "" {
		names = append(names, leaf.Subject.CommonName)
	}
	return names
}
