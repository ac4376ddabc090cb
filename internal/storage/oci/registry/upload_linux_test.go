package registry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// Where to put a blob may be said in full or not; the registry's notes in it
// stay.
func TestUploadAddressMayBeRelative(t *testing.T) {
	host := serve(t, "")
	relative := 0
	m := &meddler{meddle: func(r *http.Response) {
		if u, err := url.Parse(r.Header.Get("Location")); err == nil && r.Request.Method == http.MethodPost {
			relative++
			r.Header.Set("Location", u.RequestURI())
		}
	}}
	_, err := Push(context.Background(), image(t), m.before(t, host)+"/box:v1", Options{})
	check(t, err)
	if relative == 0 {
		t.Error("nothing was uploaded")
	}
	_, err = Pull(context.Background(), host+"/box:v1", t.TempDir(), Options{})
	check(t, err)
}

func TestUploadElsewhereLearnsNothing(t *testing.T) {
	host := serve(t, "")
	store := &stranger{next: proxyTo(host)}
	elsewhere := httptest.NewServer(store)
	defer elsewhere.Close()
	m := &meddler{meddle: func(r *http.Response) {
		if u, err := url.Parse(r.Header.Get("Location")); err == nil && r.Request.Method == http.MethodPost {
			r.Header.Set("Location", elsewhere.URL+u.RequestURI())
		}
	}}
	d := &doorman{}
	ref := d.before(t, proxyTo(m.before(t, host))) + "/box:v1"
	_, err := Push(context.Background(), image(t), ref, known)
	check(t, err)
	store.check(t)
	d.check(t, "repository:box:pull,push")
}

func TestUploadAddresses(t *testing.T) {
	sum := oci.FromBytes(nil)
	digest := "digest=" + url.QueryEscape(sum.String())
	for location, want := range map[string]string{
		"/v2/x?_state=a%2Bb":        "https://r.example/v2/x?_state=a%2Bb&" + digest,
		"https://r.example/v2/x":    "https://r.example/v2/x?" + digest,
		"http://R.example/v2/x":     "https://R.example/v2/x?" + digest, // a proxy does TLS
		"https://s.example/v2/x?a":  "https://s.example/v2/x?a&" + digest,
		"http://s.example/v2/x":     "",
		"ftp://s.example/v2/x":      "",
		"":                          "",
		"https://u:p@r.example/x#f": "https://r.example/x?" + digest,
	} {
		c := newClient(Reference{Registry: "r.example", Repository: "box"}, false, "pull,push", Credential{})
		u, err := c.uploadTo(c.at("blobs/uploads/").Parse, location, sum)
		if want == "" {
			wantError(t, err, forkbox.Unavailable, "the registry")
		} else if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v; want %s", location, u, err, want)
		}
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	request := func(method, address string) *http.Request {
		r, err := http.NewRequest(method, address, nil)
		check(t, err)
		r.Header.Set("Authorization", "secret")
		return r
	}
	for name, c := range map[string]struct {
		check    func(*http.Request, []*http.Request) error
		via, to  *http.Request
		err      error
		telling  bool
		upToHere int
	}{
		"same":           {checkRedirect, request("GET", "https://a/x"), request("GET", "https://a:443/y"), nil, true, 1},
		"elsewhere":      {checkRedirect, request("GET", "https://a/x"), request("GET", "https://sub.a/y"), nil, false, 1},
		"other port":     {checkRedirect, request("GET", "https://a/x"), request("GET", "https://a:444/y"), nil, false, 1},
		"no TLS":         {checkRedirect, request("GET", "https://a/x"), request("GET", "http://a/y"), errDowngrade, true, 1},
		"upload":         {checkRedirect, request("PUT", "https://a/x"), request("PUT", "https://b/y"), errMovedUpload, true, 1},
		"upload to read": {checkRedirect, request("POST", "https://a/x"), request("GET", "https://a/y"), errMovedUpload, true, 1},
		"upload here":    {checkRedirect, request("PUT", "https://a/x"), request("PUT", "https://a/y"), nil, true, 1},
		"for ever":       {checkRedirect, request("GET", "https://a/x"), request("GET", "https://a/y"), errManyRedirects, true, 10},
		"login":          {stay, request("POST", "https://a/x"), request("POST", "https://b/y"), errMovedLogin, true, 1},
		"login by name":  {stay, request("GET", "https://a/x"), request("GET", "https://sub.a/y"), errMovedLogin, true, 1},
	} {
		var via []*http.Request
		for range c.upToHere {
			via = append(via, c.via)
		}
		if err := c.check(c.to, via); err != c.err || (c.to.Header.Get("Authorization") != "") != c.telling {
			t.Errorf("%s: error %v, headers %v", name, err, c.to.Header)
		}
	}
	// What was once sent to another host does not come back with credentials.
	back := request("GET", "https://a/z")
	if err := checkRedirect(back, []*http.Request{request("GET", "https://a/x"), request("GET", "https://b/y")}); err != nil || strings.Contains(back.Header.Get("Authorization"), "secret") {
		t.Errorf("back again: %v, %v", err, back.Header)
	}
}
