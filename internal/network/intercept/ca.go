package intercept

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// CA makes the certificates that one box trusts. No other program trusts it,
// and its key never enters the box.
type CA struct {
	cert *x509.Certificate
	key  crypto.Signer
	// leafKey is one for all names: they all end at the same gate.
	leafKey *ecdsa.PrivateKey
	lock    sync.Mutex
	leaves  map[string]*tls.Certificate
}

const (
	caYears     = 10
	longestName = 64 // of a common name, says X.520; some libraries refuse longer ones
)

// NewCA makes a CA for a box: its certificate and its key, both in PEM.
func NewCA(box string) (certPEM string, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", nil, forkbox.Wrap("make a CA", err)
	}
	name := "forkbox box " + box
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name[:min(len(name), longestName)]},
		// A box can have a clock that is a little behind.
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(caYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", nil, forkbox.Wrap("make a CA", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", nil, forkbox.Wrap("make a CA", err)
	}
	return string(encodePEM("CERTIFICATE", der)), encodePEM("PRIVATE KEY", pkcs8), nil
}

// LoadCA opens what NewCA made.
func LoadCA(certPEM string, keyPEM []byte) (*CA, error) {
	const op = "open a box's CA"
	pair, err := tls.X509KeyPair([]byte(certPEM), keyPEM)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Internal, op, "%w", err)
	}
	key, signs := pair.PrivateKey.(crypto.Signer)
	if !signs || !pair.Leaf.IsCA {
		return nil, forkbox.Errorf(forkbox.Internal, op, "its certificate is not a CA's")
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	return &CA{cert: pair.Leaf, key: key, leafKey: leafKey, leaves: map[string]*tls.Certificate{}}, nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// serial is random: a box's programs may remember certificates by it.
func serial() *big.Int {
	most := new(big.Int).Lsh(big.NewInt(1), 127)
	n, err := rand.Int(rand.Reader, most)
	if err != nil {
		panic(fmt.Sprintf("no random numbers: %v", err))
	}
	return n.Add(n, big.NewInt(1))
}

const (
	mostLeaves = 256
	leafLife   = 30 * 24 * time.Hour
	leafSpare  = 24 * time.Hour // what must be left of it when it is handed out
)

// Leaf returns a certificate for one name and no other.
func (ca *CA) Leaf(host string) (*tls.Certificate, error) {
	ca.lock.Lock()
	defer ca.lock.Unlock()
	if leaf := ca.leaves[host]; leaf != nil && time.Until(leaf.Leaf.NotAfter) > leafSpare {
		return leaf, nil
	}
	leaf, err := ca.newLeaf(host)
	if err != nil {
		return nil, forkbox.Wrap("make a certificate for "+host, err)
	}
	ca.makeRoom()
	ca.leaves[host] = leaf
	return leaf, nil
}

// makeRoom forgets one name, whichever, where there are many: a new certificate
// takes less than a millisecond.
func (ca *CA) makeRoom() {
	for host := range ca.leaves {
		if len(ca.leaves) < mostLeaves {
			return
		}
		delete(ca.leaves, host)
	}
}

func (ca *CA) newLeaf(host string) (*tls.Certificate, error) {
	now := time.Now()
	end := now.Add(leafLife)
	if ca.cert.NotAfter.Before(end) {
		end = ca.cert.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: host[:min(len(host), longestName)]},
		DNSNames: []string{host}, NotBefore: now.Add(-time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, ca.leafKey.Public(), ca.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, ca.cert.Raw}, PrivateKey: ca.leafKey, Leaf: leaf}, nil
}
