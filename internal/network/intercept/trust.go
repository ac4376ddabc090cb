package intercept

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/forkbox/forkbox"
)

// TrustBundle is what a box's programs trust: what the system does, and the
// box's CA. The CA is first, because some tools stop at what they cannot read.
func TrustBundle(systemPEM []byte, caPEM string) []byte {
	var bundle bytes.Buffer
	bundle.WriteString(caPEM)
	if caPEM != "" && caPEM[len(caPEM)-1] != '\n' {
		bundle.WriteByte('\n')
	}
	bundle.Write(systemPEM)
	return bundle.Bytes()
}

// JavaTrustStore makes of certificates in PEM what Java reads: PKCS #12 without
// a password, since it is nothing secret. What is no certificate is passed over;
// without any it is an error, for a store that trusts nobody helps nobody.
func JavaTrustStore(pems []byte) ([]byte, error) {
	const op = "make a trust store for Java"
	entries := javaEntries(pems)
	if len(entries) == 0 {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "there is no certificate in it")
	}
	store, err := pkcs12.Passwordless.EncodeTrustStoreEntries(entries, "")
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Internal, op, "%w", err)
	}
	return store, nil
}

// javaEntries have names that differ: of two with the same Java keeps one.
func javaEntries(pems []byte) (entries []pkcs12.TrustStoreEntry) {
	for {
		var block *pem.Block
		if block, pems = pem.Decode(pems); block == nil {
			return entries
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue // systems keep old ones that Go does not take
		}
		name := fmt.Sprintf("%03d %s", len(entries)+1, cert.Subject.CommonName)
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: cert, FriendlyName: name})
	}
}
