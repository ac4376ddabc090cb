package intercept

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"software.sslmate.com/src/go-pkcs12"
)

// TrustFiles are where a box finds whom to trust, as paths in the box.
type TrustFiles struct {
	Bundle string // what TrustBundle made
	CA     string // the box's CA alone, for programs that add it to their own
	Java   string // what JavaTrustStore made; may be empty
}

// Environment is the variables that make programs trust the box's CA beside what
// the system trusts. Programs that go by the system's files need none of them.
// had is the environment so far: Java's options are added to what is there.
func Environment(files TrustFiles, had func(name string) string) map[string]string {
	env := map[string]string{
		"NODE_EXTRA_CA_CERTS": files.CA,
		"DENO_CERT":           files.CA,
	}
	for _, name := range []string{
		"SSL_CERT_FILE",      // OpenSSL, Go, Ruby, rustls, uv
		"REQUESTS_CA_BUNDLE", // Python's requests, which brings its own list
		"PIP_CERT", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE",
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	} {
		env[name] = files.Bundle
	}
	if files.Java != "" {
		env["JAVA_TOOL_OPTIONS"] = javaOptions(files.Java, had("JAVA_TOOL_OPTIONS"))
	}
	return env
}

// javaOptions leaves a trust store alone that the owner chose for Java itself.
// JAVA_TOOL_OPTIONS is the one variable that every JVM reads, also those that
// are started by a build tool; each says so in a line on stderr.
func javaOptions(store, had string) string {
	if strings.Contains(had, "javax.net.ssl.trustStore=") {
		return had
	}
	return strings.TrimSpace(had + " -Djavax.net.ssl.trustStore=" + store + " -Djavax.net.ssl.trustStoreType=PKCS12")
}

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
// a password, since it is nothing secret. What is no certificate is passed
// over; without any it is an error, for an empty store is of no use.
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
