package registry

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/forkbox/forkbox"
)

// maxToken is far above what fits into the header that it is for.
const maxToken = 128 << 10

const opLogin = "log in to the registry"

var errNoCredential = errors.New("it asks for a name and a password, and there are none")

// authorize answers a challenge with the header for the next attempt. None
// means that we do not know how.
func (c *client) authorize(w *watch, headers []string) (string, error) {
	all := parseChallenges(strings.Join(headers, ", "))
	for _, ch := range all {
		if ch.scheme == "bearer" && ch.params["realm"] != "" {
			token, err := c.token(w, ch)
			return "Bearer " + token, err
		}
	}
	for _, ch := range all {
		if ch.scheme == "basic" {
			return c.basic()
		}
	}
	return "", nil
}

func (c *client) basic() (string, error) {
	if c.credential.Username == "" || c.credential.Password == "" {
		return "", errNoCredential
	}
	pair := c.credential.Username + ":" + c.credential.Password
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)), nil
}

// token asks the registry's token server for one:
// https://distribution.github.io/distribution/spec/auth/token.
func (c *client) token(w *watch, ch challenge) (string, error) {
	req, err := c.tokenRequest(w, ch)
	if err != nil {
		return "", err
	}
	resp, err := send(w, &http.Client{Transport: c.http.Transport, CheckRedirect: stay}, req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		a := readAnswer(resp)
		a.login = true
		return "", a
	}
	data, err := readBounded(resp.Body, maxToken)
	if err != nil {
		return "", err
	}
	return parseToken(data)
}

func parseToken(data []byte) (string, error) {
	var t struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return "", forkbox.Errorf(forkbox.Unavailable, opLogin, "its token server's answer is damaged: %w", err)
	}
	token := t.AccessToken
	if token == "" {
		token = t.Token
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", forkbox.Errorf(forkbox.Unavailable, opLogin, "its token server gave no token")
	}
	return token, nil
}

// tokenRequest asks with the name and the password, or with the token that
// stands for them, which goes into the body.
func (c *client) tokenRequest(w *watch, ch challenge) (*http.Request, error) {
	realm, err := c.realm(ch.params["realm"])
	if err != nil {
		return nil, err
	}
	scopes := c.scopes(ch.params["scope"])
	if c.credential.Token != "" {
		return refreshRequest(w, realm, ch.params["service"], scopes, c.credential.Token)
	}
	query := realm.Query()
	if service := ch.params["service"]; service != "" {
		query.Set("service", service)
	}
	query["scope"] = scopes
	realm.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, realm.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "forkbox")
	if header, err := c.basic(); err == nil {
		req.Header.Set("Authorization", header)
	}
	return req, nil
}

func refreshRequest(w *watch, realm *url.URL, service string, scopes []string, token string) (*http.Request, error) {
	form := url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {"forkbox"},
		"service": {service}, "scope": {strings.Join(scopes, " ")},
	}
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, realm.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "forkbox")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return req, nil
}

// realm is the address of the token server. The registry names it, so it could
// be any: one without TLS must be on this machine, as the registry is, or is
// the plain registry itself and gets no password.
func (c *client) realm(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, forkbox.Errorf(forkbox.Unavailable, opLogin, "its token server has no address: %.100q", text)
	}
	here := c.local && loopback(u.Hostname())
	itself := sameOrigin(u, c.base) && c.credential == (Credential{})
	if u.Scheme == "http" && !here && !itself {
		return nil, forkbox.Errorf(forkbox.Denied, opLogin, "its token server %.100q has no TLS", u.Host).
			Hint("a password is sent only over a connection that is encrypted or local")
	}
	u.User, u.Fragment = nil, ""
	return u, nil
}

// scopes is what the token is to be good for: what we are going to do, and
// what else the registry asks for. From the start it is all that the session
// needs, so that one token does.
func (c *client) scopes(asked string) []string {
	resource := "repository:" + c.repository
	own := resource + ":" + c.actions
	scopes := []string{own}
	for _, s := range strings.Fields(asked) {
		i := strings.LastIndexByte(s, ':')
		if i >= 0 && s[:i] == resource && covers(c.actions, s[i+1:]) {
			continue
		}
		scopes = append(scopes, s)
	}
	return scopes
}

// covers says whether the actions in have are all of those in want.
func covers(have, want string) bool {
	for _, a := range strings.Split(want, ",") {
		if !strings.Contains(","+have+",", ","+a+",") {
			return false
		}
	}
	return true
}
