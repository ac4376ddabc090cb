package intercept

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestTheCA(t *testing.T) {
	ca, certPEM := madeCA(t, "swift-otter")
	block, _ := pem.Decode([]byte(certPEM))
	cert, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	want(t, "subject", cert.Subject.CommonName, "forkbox box swift-otter")
	want(t, "CA", cert.IsCA && cert.MaxPathLenZero, true)
	want(t, "lasts ten years", cert.NotAfter.After(time.Now().AddDate(10, 0, -1)), true)
	_, long := madeCA(t, strings.Repeat("x", 200))
	block, _ = pem.Decode([]byte(long))
	cert, err = x509.ParseCertificate(block.Bytes)
	must(t, err)
	want(t, "length of a long name", len(cert.Subject.CommonName), 64)

	leaf, err := ca.Leaf("api.example.com")
	must(t, err)
	again, err := ca.Leaf("api.example.com")
	must(t, err)
	want(t, "it is made once", leaf == again, true)
	for name, good := range map[string]bool{"api.example.com": true, "sub.api.example.com": false, "example.com": false} {
		_, err := leaf.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool(certPEM)})
		want(t, "good for "+name, err == nil, good)
	}
	_, otherPEM := madeCA(t, "swift-otter")
	if _, err := leaf.Leaf.Verify(x509.VerifyOptions{DNSName: "api.example.com", Roots: pool(otherPEM)}); err == nil {
		t.Error("another box trusts it")
	}
}

func TestLeavesAreBounded(t *testing.T) {
	ca, _ := madeCA(t, "box")
	for n := range mostLeaves + 10 {
		_, err := ca.Leaf(fmt.Sprintf("%d.example.com", n))
		must(t, err)
	}
	if len(ca.leaves) > mostLeaves {
		t.Errorf("%d are kept", len(ca.leaves))
	}
}

func TestALeafIsRenewed(t *testing.T) {
	ca, _ := madeCA(t, "box")
	old, err := ca.Leaf(testHost)
	must(t, err)
	old.Leaf.NotAfter = time.Now().Add(leafSpare / 2)
	leaf, err := ca.Leaf(testHost)
	must(t, err)
	want(t, "renewed", leaf != old, true)
}

func TestBadCAs(t *testing.T) {
	certPEM, keyPEM, err := NewCA("a")
	must(t, err)
	_, otherKey, err := NewCA("b")
	must(t, err)
	ca, err := LoadCA(certPEM, keyPEM)
	must(t, err)
	leaf, err := ca.Leaf(testHost)
	must(t, err)
	leafKey, err := x509.MarshalPKCS8PrivateKey(ca.leafKey)
	must(t, err)
	for name, c := range map[string]struct {
		cert string
		key  []byte
	}{
		"no key": {certPEM, nil}, "no certificate": {"", keyPEM}, "another's key": {certPEM, otherKey},
		"no CA": {string(encodePEM("CERTIFICATE", leaf.Certificate[0])), encodePEM("PRIVATE KEY", leafKey)},
	} {
		if _, err := LoadCA(c.cert, c.key); err == nil || !strings.HasPrefix(err.Error(), "cannot open a box's CA: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Config{CA: ca}); forkbox.CodeOf(err) != forkbox.Internal || err == nil {
		t.Error("an interceptor that asks no policy")
	}
}
