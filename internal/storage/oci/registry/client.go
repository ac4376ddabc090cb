package registry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client speaks the distribution protocol with one repository:
// https://github.com/opencontainers/distribution-spec. One request at a time.
type client struct {
	http          *http.Client
	base          *url.URL // of the registry: scheme and host
	local         bool     // the registry runs on this machine
	repository    string
	actions       string // what we want to be allowed to do
	credential    Credential
	authorization string // the header that was taken last
}

func newClient(ref Reference, plain bool, actions string, who Credential) *client {
	c := &client{
		base: &url.URL{Scheme: "https", Host: ref.Registry}, local: ref.local(),
		repository: ref.Repository, actions: actions, credential: who,
	}
	if plain || c.local {
		c.base.Scheme = "http"
	}
	c.http = &http.Client{Transport: transport(), CheckRedirect: checkRedirect}
	return c
}

// transport bounds every wait but that for content, which [watch] does.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.DisableCompression = true               // digests are of what is stored
	t.ResponseHeaderTimeout = 5 * time.Minute // a registry may sum up a large blob first
	return t
}

// request is what is asked of a registry.
type request struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	stream io.Reader // instead of body: content that can be sent only once
	size   int64     // of stream
}

// at is the address of something in the repository.
func (c *client) at(path string) *url.URL {
	return c.base.JoinPath("v2", c.repository, path)
}

// do asks, and says who we are if the registry wants to know. No server but the
// registry is told: not a store that it sends us to, nor one that it names for
// uploads.
func (c *client) do(w *watch, r request) (*http.Response, error) {
	for tried := false; ; tried = true {
		resp, err := c.send(w, r)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || !sameOrigin(resp.Request.URL, c.base) {
			return resp, err
		}
		used := resp.Request.Header.Get("Authorization")
		if tried {
			return resp, nil
		}
		next, err := c.authorize(w, resp.Header.Values("Www-Authenticate"))
		if err != nil || next == "" || next == used {
			return resp, closing(resp, err)
		}
		c.authorization = next
		if r.stream != nil {
			return nil, again(resp)
		}
		drain(resp)
	}
}

func closing(resp *http.Response, err error) error {
	if err != nil {
		resp.Body.Close()
	}
	return err
}

// again is for content that was refused half-way, with a token that has
// expired: the whole step has to be done once more, with the new one.
func again(resp *http.Response) error {
	a := readAnswer(resp)
	a.again = true
	return a
}

func (c *client) send(w *watch, r request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(w.ctx, r.method, r.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.stream != nil {
		req.Body, req.GetBody, req.ContentLength = io.NopCloser(r.stream), nil, r.size
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	req.Header.Set("User-Agent", "forkbox")
	if c.authorization != "" && sameOrigin(r.url, c.base) {
		req.Header.Set("Authorization", c.authorization)
	}
	return send(w, c.http, req)
}

// send sends a request. How long an answer may take to begin is up to the
// transport; from then on the watch sees to it that it goes on.
func send(w *watch, client *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, withoutQuery(err)
	}
	w.timer.Reset(stall)
	return resp, nil
}

// withoutQuery is for errors that people paste: what registries sign is in the
// query of addresses.
func withoutQuery(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		e.URL, _, _ = strings.Cut(e.URL, "?")
	}
	return err
}

// small runs an exchange whose answer is a document, and reads that.
func (c *client) small(ctx context.Context, r request, limit int64, want int) (*http.Response, []byte, error) {
	w := newWatch(ctx)
	defer w.close()
	w.timer.Stop()
	resp, err := c.do(w, r)
	if err != nil {
		return nil, nil, w.why(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		return nil, nil, readAnswer(resp)
	}
	data, err := readBounded(resp.Body, limit)
	return resp, data, w.why(err)
}
