//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// clientAuthority certifies clients.
type clientAuthority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newClientAuthority(w *world) *clientAuthority {
	w.Helper()
	a := &clientAuthority{key: newKey(w)}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	text, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	w.ok(err)
	a.cert, err = x509.ParseCertificate(text)
	w.ok(err)
	return a
}

func newKey(w *world) *ecdsa.PrivateKey {
	w.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.ok(err)
	return key
}

// certify makes a client whose certificate has a name.
func (a *clientAuthority) certify(w *world, name string) *http.Client {
	w.Helper()
	key := newKey(w)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	text, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	w.ok(err)
	return newTLSClient(w, tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key})
}

// newTLSClient does not look at the daemon's certificate, which is not what these
// tests are about.
func newTLSClient(w *world, certificates ...tls.Certificate) *http.Client {
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
	w.Cleanup(c.CloseIdleConnections)
	return c
}

// TestClientCertificates: a program with a certificate is the user that
// serve.clients says, with those scopes; one that no authority of the daemon's has
// certified, or that has another name, is no one.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	other := me
	if found, err := user.Lookup("fbtest"); err == nil && os.Geteuid() == 0 {
		other = found
	}
	w := &limitWorld{served: served{world: makeWorld(t, "", "reality")}}
	t.Cleanup(w.end)
	ca := newClientAuthority(&w.world)
	w.ok(os.WriteFile(w.file("clients.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}), 0o644))
	w.configure(calm + fmt.Sprintf("serve: {client-ca: %s, clients: {agent: {user: %q, scopes: [boxes, exec]}, looker: {user: %q, scopes: [read]}}}\n",
		w.file("clients.pem"), other.Username, me.Username))
	w.start = listenOutside
	w.serve()
	at, err := w.Listeners(t.Context())
	w.ok(err)
	ask := func(c *http.Client, method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, at[0].URL+path, strings.NewReader(body))
		w.ok(err)
		resp, err := c.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		w.ok(err)
		return resp.StatusCode, string(text)
	}

	agent := ca.certify(&w.world, "agent")
	status, text := ask(agent, "POST", "/v1/boxes", `{"name":"theirs","net":"none"}`)
	var box forkbox.Box
	if status != 201 {
		t.Fatalf("%d %s\n%s", status, text, w.log())
	}
	w.ok(json.Unmarshal([]byte(text), &box))
	if fmt.Sprint(box.Owner.UID) != other.Uid {
		t.Errorf("the box is %+v's, not %s's", box.Owner, other.Uid)
	}
	if status, text := ask(agent, "POST", "/v1/boxes/theirs/execs?stream=raw", `{"argv":["id","-u"],"dir":"/"}`); status != 200 || strings.TrimSpace(text) != other.Uid {
		t.Errorf("a command of it: %d %s", status, text)
	}
	if status, text := ask(agent, "POST", "/v1/boxes/theirs/apply", `{}`); status != 403 || !strings.Contains(text, "scope apply") {
		t.Errorf("apply: %d %s", status, text)
	}
	looker := ca.certify(&w.world, "looker")
	if status, text := ask(looker, "GET", "/v1/boxes", ""); status != 200 || strings.Contains(text, "theirs") != (me.Uid == other.Uid) {
		t.Errorf("another client: %d %s", status, text)
	}
	if status, text := ask(looker, "DELETE", "/v1/boxes/theirs?force=1", ""); status != 403 {
		t.Errorf("one that may only look: %d %s", status, text)
	}
	for name, c := range map[string]*http.Client{
		"without one":              newTLSClient(&w.world),
		"with a name of no client": ca.certify(&w.world, "root"),
		"of another authority":     newClientAuthority(&w.world).certify(&w.world, "agent"),
	} {
		if status, text := ask(c, "GET", "/v1/boxes", ""); status == 0 && !strings.Contains(text, "certificate") || status != 0 && status != 401 {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, text := ask(agent, "DELETE", "/v1/boxes/theirs?force=1", ""); status != 204 {
		t.Errorf("%d %s", status, text)
	}
}
