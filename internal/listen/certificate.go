package listen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Certificate is what the daemon shows who connects: one that it was given, or
// one of its own making. Clients pin the key and not the certificate, so that one
// that is renewed is still the same daemon.
type Certificate struct {
	mu     sync.Mutex
	now    *tls.Certificate
	leaf   *x509.Certificate
	look   time.Time // when to look again whether there is a newer one
	renew  func() (*tls.Certificate, error)
	wanted func(leaf *x509.Certificate) bool
}

const (
	ownLife    = 365 * 24 * time.Hour
	renewAhead = 30 * 24 * time.Hour
	lookEvery  = time.Minute
)

// OwnCertificate is one that the daemon makes for these names and addresses. Key
// and certificate are kept in dir; the key stays when the certificate is renewed.
func OwnCertificate(dir string, names []string) (*Certificate, error) {
	const op = "make a certificate"
	key, err := ownKey(filepath.Join(dir, "listener.key"))
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	path := filepath.Join(dir, "listener.crt")
	c := &Certificate{
		wanted: func(leaf *x509.Certificate) bool {
			return time.Until(leaf.NotAfter) > renewAhead && time.Now().After(leaf.NotBefore) && covers(leaf, names)
		},
		renew: func() (*tls.Certificate, error) { return selfSign(key, names, path) },
	}
	if kept, leaf := readOwn(path, key); kept != nil && c.wanted(leaf) {
		c.now, c.leaf, c.look = kept, leaf, time.Now().Add(lookEvery)
		return c, nil
	}
	return c, forkbox.Wrap(op, c.refresh())
}

// GivenCertificate is one from files, which are read again when they change.
func GivenCertificate(cert, key string) (*Certificate, error) {
	op := "read the certificate " + cert
	if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o007 != 0 {
		return nil, forkbox.Errorf(forkbox.Denied, op, "everybody may read or write its key, %s", key).Hint("chmod o= %q", key)
	}
	var read [2]time.Time
	c := &Certificate{
		wanted: func(*x509.Certificate) bool { return changed(cert, key) == read },
		renew: func() (*tls.Certificate, error) {
			now := changed(cert, key)
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err == nil {
				read = now
			}
			return &pair, err
		},
	}
	if err := c.refresh(); err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err).Hint("it and its key are PEM files: serve.certificate and serve.key in config.yaml")
	}
	return c, nil
}

// changed is when each of two files last did.
func changed(files ...string) (times [2]time.Time) {
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

// refresh is called with the lock held, or before there is another caller.
func (c *Certificate) refresh() error {
	pair, err := c.renew()
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return err
	}
	pair.Leaf = leaf
	c.now, c.leaf, c.look = pair, leaf, time.Now().Add(lookEvery)
	return nil
}

// current is the certificate that holds now. Where a newer one cannot be had, the
// old one goes on as long as clients take it.
func (c *Certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().After(c.look) {
		c.look = time.Now().Add(lookEvery)
		if !c.wanted(c.leaf) {
			_ = c.refresh()
		}
	}
	return c.now
}

// Fingerprint is what clients pin: the SHA-256 of the public key, as curl's
// --pinnedpubkey takes it.
func (c *Certificate) Fingerprint() string { return Fingerprint(c.current().Leaf) }

// Fingerprint is that of a certificate's public key.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return "sha256//" + base64.StdEncoding.EncodeToString(sum[:])
}

// Expires is when the certificate does.
func (c *Certificate) Expires() time.Time { return c.current().Leaf.NotAfter }

// Names are the names in it.
func (c *Certificate) Names() []string {
	leaf := c.current().Leaf
	names := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// TLS is the configuration of listeners. HTTP/2 is not offered: exec takes the
// connection over, and limits on slow bodies are the connection's.
func (c *Certificate) TLS(clients *x509.CertPool) *tls.Config {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}
	if clients != nil {
		config.ClientCAs, config.ClientAuth = clients, tls.VerifyClientCertIfGiven
	}
	return config
}

func covers(leaf *x509.Certificate, names []string) bool {
	for _, name := range names {
		if leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}

// ownKey reads the daemon's key, or makes it.
func ownKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, forkbox.Errorf(forkbox.Invalid, "read "+path, "it is not a key").Hint("remove it to have a new one made; clients then have to be told its fingerprint")
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

func makeKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePrivate(path, &pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// writePrivate replaces a file whole, so that a crash leaves the old one or none.
func writePrivate(path string, block *pem.Block) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".listener-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(pem.EncodeToMemory(block))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func readOwn(path string, key *ecdsa.PrivateKey) (*tls.Certificate, *x509.Certificate) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !key.PublicKey.Equal(leaf.PublicKey) {
		return nil, nil
	}
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key, Leaf: leaf}, leaf
}

func selfSign(key *ecdsa.PrivateKey, names []string, path string) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "forkbox"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(ownLife), // clocks differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if err := writePrivate(path, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
