package client

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Remote is a daemon that listens beyond its socket.
type Remote struct {
	URL   string // https://HOST:PORT, or http://ADDRESS:PORT on this machine's loopback
	Token string
	// Pin is the fingerprint of the daemon's key, as forkbox listeners says it.
	// Without one an authority that this system trusts has to vouch for it.
	Pin string
}

// OnLoopback says whether the daemon is on this machine.
func (r Remote) OnLoopback() bool {
	u, err := url.Parse(r.URL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// NewRemote makes a client of a daemon elsewhere. It does not connect.
func NewRemote(r Remote) (*Client, error) {
	base, err := r.check()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		TLSClientConfig:       r.tls(),
		DisableCompression:    true,
		MaxIdleConnsPerHost:   16,
		ResponseHeaderTimeout: 0, // a wait for an exec lasts as long as that
	}
	return newClient(&link{base: base, remote: true}, bearer{r.Token, transport}), nil
}

// NewRefusing makes a client whose every call fails with err: for a host that
// cannot be made sense of, which only matters when it is asked.
func NewRefusing(err error) *Client {
	return newClient(&link{base: "http://forkbox", remote: true}, refusing{err})
}

type refusing struct{ err error }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// check is where requests go. A token is not sent where others could read it.
func (r Remote) check() (base string, err error) {
	const op = "reach the host"
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil {
		return "", forkbox.Errorf(forkbox.Invalid, op, "%q is not the URL of a daemon", r.URL).Hint("for example https://build.example.com:7171")
	}
	switch u.Scheme {
	case "https":
	case "http":
		if !r.OnLoopback() {
			return "", forkbox.Errorf(forkbox.Denied, op, "over http the token and all else could be read on the way").Hint("use https://%s", u.Host)
		}
	default:
		return "", forkbox.Errorf(forkbox.Invalid, op, "%q begins neither with https:// nor with http://", r.URL)
	}
	if _, err := decodePin(r.Pin); err != nil {
		return "", err
	}
	return u.Scheme + "://" + u.Host, nil
}

// pinKind is what a fingerprint begins with, as curl's --pinnedpubkey takes it.
const pinKind = "sha256//"

func decodePin(pin string) ([]byte, error) {
	if pin == "" {
		return nil, nil
	}
	text, ok := strings.CutPrefix(pin, pinKind)
	sum, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(sum) != sha256.Size {
		return nil, forkbox.Errorf(forkbox.Invalid, "pin the daemon's key", "%q is no fingerprint", pin).
			Hint("where the daemon runs, forkbox listeners says it: sha256//…")
	}
	return sum, nil
}

// tls trusts the pinned key and nothing else; without a pin, whom the system
// trusts.
func (r Remote) tls() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	pin, _ := decodePin(r.Pin)
	if pin == nil {
		return config
	}
	config.InsecureSkipVerify = true // the pin says more than a name does
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if got := Fingerprint(state.PeerCertificates[0]); got != r.Pin {
			return forkbox.Errorf(forkbox.Denied, "trust the daemon", "its key is %s, and %s is pinned", got, r.Pin).
				Hint("if the daemon got a new key: forkbox context add NAME URL --fingerprint …, with what forkbox listeners says there")
		}
		return nil
	}
	return config
}

// Fingerprint is that of a certificate's public key.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return pinKind + base64.StdEncoding.EncodeToString(sum[:])
}

// bearer sends a token with every request, upgrades too.
type bearer struct {
	token string
	*http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.Transport.RoundTrip(r)
}

// unreachable is why a daemon elsewhere did not answer.
func (c *link) unreachable(op string, err error) error {
	e := forkbox.Errorf(forkbox.Unavailable, op, "%s does not answer: %w", c.base, rootCause(err))
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	if errors.As(err, &unknown) || errors.As(err, &name) {
		return e.Hint("pin its key: forkbox context add NAME %s --fingerprint …, with what forkbox listeners says there", c.base)
	}
	return e.Hint("does it listen there? where the daemon runs: forkbox listeners")
}

// rootCause is err without the request that it is wrapped in.
func rootCause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
