package intercept

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"time"

	"github.com/forkbox/forkbox"
)

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
