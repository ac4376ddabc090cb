package access

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func TestACertificateActsForAUser(t *testing.T) {
	clients := Clients{"ci.example.com": {User: "root", Scopes: []string{"exec"}}, "gone": {User: "no-such-user", Scopes: []string{"read"}}}
	for name, leaf := range map[string]*x509.Certificate{
		"a DNS name":    {DNSNames: []string{"other", "ci.example.com"}},
		"a common name": {Subject: pkix.Name{CommonName: "ci.example.com"}},
		"an address":    {EmailAddresses: []string{"ci.example.com"}},
	} {
		leaf.NotAfter = time.Now().Add(time.Hour)
		p, err := clients.Certified(leaf, &Users{})
		if err != nil || p.Owner.UID != 0 || p.Kind != Certificate || p.ID != "ci.example.com" || !p.May(api.Exec) || p.May(api.Apply) {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
	for name, leaf := range map[string]*x509.Certificate{
		"no name": {}, "another": {DNSNames: []string{"x.ci.example.com"}}, "a user who is gone": {DNSNames: []string{"gone"}},
	} {
		leaf.NotAfter = time.Now().Add(time.Hour)
		_, err := clients.Certified(leaf, &Users{})
		if err == nil || forkbox.CodeOf(err) != forkbox.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Clients(nil).Certified(&x509.Certificate{DNSNames: []string{"a"}}, &Users{}); err == nil {
		t.Error("without clients")
	}
}
