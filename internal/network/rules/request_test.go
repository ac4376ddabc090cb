package rules

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRequest: a path rule holds whatever way a request writes its path.
func TestRequest(t *testing.T) {
	allow := []string{"allow GET,HEAD h.example/repos/**"}
	file := []string{"allow h.example/a/*/c"}
	deny := []string{"deny h.example/admin/**", "deny POST h.example", "allow h.example"}
	for _, c := range []struct {
		rules   []string
		request string
		want    bool
	}{
		{allow, "GET /repos/x/y", true}, {allow, "HEAD /repos/", true}, {allow, "GET /repos", true}, {allow, "GET /repos/x?y=/../z", true},
		{allow, "POST /repos/x", false}, {allow, "get /repos/x", false}, {allow, " /repos/x", false}, {allow, "GET /", false}, {allow, "GET ", false},
		{allow, "GET /reposx", false}, {allow, "GET /Repos/x", false}, {allow, "GET x/repos/x", false}, {allow, "GET *", false},
		{allow, "GET /repos/../admin", false}, {allow, "GET /repos/%2e%2e/admin", false}, {allow, "GET /repos/.%2E/admin", false},
		{allow, "GET /repos/%252e%252e/admin", false}, {allow, "GET /repos/%25252e%25252e/admin", false}, {allow, "GET /repos/..;x/admin", false},
		{allow, "GET /repos/..%2fadmin", false}, {allow, "GET /repos/..%5cadmin", false}, {allow, `GET /repos/..\admin`, false},
		{allow, "GET /repos//../admin", false}, {allow, "GET /repos/%00/x", false}, {allow, "GET /repos/%zz", false}, {allow, "GET /repos/%", false},
		{allow, "GET /repos/a%2Fb", true}, {allow, "GET /repos/a%20b", true}, {allow, "GET /repos/100%25", true}, {allow, "GET /repos/./x", true},
		{allow, "GET /repos/" + strings.Repeat("x", longestPath), false}, {allow, "GET /repos/%25252525252525252e", false},
		{allow, "GET /%72epos/x", true}, {allow, "GET //repos/x", true}, {allow, "GET /repos;v=1/x", false},

		{file, "PUT /a/b/c", true}, {file, "PUT /a/b/c/", true}, {file, "PUT /a//c", false}, {file, "PUT /a/b/b/c", false}, {file, "PUT /a/b%2fb/c", false},
		{file, "PUT /a/b%252fb/c", false}, {file, "PUT /a/b;/c", true}, {file, "PUT /a/;b/c", false},

		{deny, "GET /x", true}, {deny, "POST /x", false}, {deny, "post /x", false}, {deny, " /x", false}, {deny, "GET /admin", false}, {deny, "GET /admin/x", false},
		{deny, "GET /ADMIN", false}, {deny, "GET /%61dmin/x", false}, {deny, "GET /%2561dmin/x", false}, {deny, "GET //admin", false}, {deny, "GET /x/../admin", false},
		{deny, "GET /x%2f..%2fadmin", false}, {deny, "GET /admin;x/y", false}, {deny, `GET \admin`, false}, {deny, "GET /admin%zz", false}, {deny, "GET /administer", true},
	} {
		target := to("h.example")
		target.Method, target.Path, _ = strings.Cut(c.request, " ")
		if v := policyOf(t, Options{}, c.rules...).Request(target); v.Allowed != c.want {
			t.Errorf("%q, %s: %+v; read as %q", c.rules, c.request, v, readings(target.Path))
		}
	}
}

func TestRequestRemedy(t *testing.T) {
	p := policyOf(t, Options{}, "allow GET h.example/repos/**", "|", "deny DELETE *", "allow *")
	for request, want := range map[string]string{
		"PUT /x/y.z":         "forkbox net allow BOX 'PUT h.example:443/x/y.z'",
		"PUT /x/../y":        "forkbox net allow BOX 'PUT h.example:443/y'",
		"PUT /x'; rm y":      "forkbox net allow BOX 'PUT h.example:443'",
		"PUT /x/%2e./y":      "forkbox net allow BOX 'PUT h.example:443/y'",
		"PUT /x%2fy":         "forkbox net allow BOX 'PUT h.example:443'",
		"x'y /":              "forkbox net allow BOX 'h.example:443'",
		"DELETE /repos/x":    "forkbox net allow BOX 'DELETE h.example:443/repos/x'",
		"GET /repos/allowed": "",
	} {
		target := to("h.example")
		target.Method, target.Path, _ = strings.Cut(request, " ")
		if v := p.Request(target); v.Remedy != want {
			t.Errorf("%s: %q; want %q", request, v.Remedy, want)
		}
	}
	target := to("h.example")
	target.Method = "DELETE"
	p = policyOf(t, Options{}, "allow *", "|", "deny DELETE *", "allow *")
	if v := p.Request(target); v.Allowed || v.Remedy != floorRemedy {
		t.Error(v)
	}
}

// TestTerminates: TLS ends at the gate where, and only where, a request decides.
func TestTerminates(t *testing.T) {
	opts := Options{Terminate: []string{"*.seen.example"}, Pinned: []string{"p.seen.example", "pinned.example"}}
	for _, c := range []struct {
		rules []string
		host  string
		want  bool
		needs bool
	}{
		{nil, "h.example", false, false},
		{nil, "a.seen.example", true, false},
		{nil, "A.Seen.Example.", true, false},
		{nil, "p.seen.example", false, false},
		{nil, "seen.example", false, false},
		{[]string{"allow h.example"}, "h.example", false, false},
		{[]string{"allow GET h.example"}, "h.example", true, true},
		{[]string{"allow h.example/x"}, "h.example", true, true},
		{[]string{"allow GET h.example:8443"}, "h.example", false, false},
		{[]string{"allow h.example", "allow GET h.example"}, "h.example", false, false},
		{[]string{"deny h.example", "allow GET h.example"}, "h.example", false, false},
		{[]string{"deny POST h.example", "allow h.example"}, "h.example", true, true},
		{[]string{"deny POST h.example"}, "h.example", false, false},
		{[]string{"deny POST h.example", "deny h.example"}, "h.example", false, false},
		{[]string{"allow h.example", "allow GET h.example private"}, "h.example", true, true},
		{[]string{"allow *", "|", "allow GET *"}, "h.example", true, true},
		{[]string{"allow GET pinned.example"}, "pinned.example", false, false},
		{[]string{"allow GET *"}, "0x1", false, false},
	} {
		p := policyOf(t, opts, c.rules...)
		if p.Terminates(c.host, 443) != c.want || p.NeedsRequests(c.host, 443) != c.needs {
			t.Errorf("%q, %s: %v, %v", c.rules, c.host, p.Terminates(c.host, 443), p.NeedsRequests(c.host, 443))
		}
	}
}

// globMatches is what the pattern of a path means, in the plainest way.
func globMatches(glob, path string) bool {
	switch {
	case glob == "/**":
		return path == "" || path[0] == '/'
	case glob == "":
		return path == ""
	case strings.HasPrefix(glob, "**"):
		return globMatches(glob[2:], path) || path != "" && globMatches(glob, path[1:])
	case glob[0] == '*':
		return globMatches(glob[1:], path) || path != "" && path[0] != '/' && globMatches(glob, path[1:])
	}
	return path != "" && path[0] == glob[0] && globMatches(glob[1:], path[1:])
}

// TestPathProperties: the compiled patterns mean what the plain ones do.
func TestPathProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`(/[ab*.+]{1,3}){1,3}(/\*\*)?`).Draw(t, "glob")
		path := rapid.StringMatching(`(/[ab.+]{1,3}){1,4}`).Draw(t, "path")
		r, err := Parse("allow h.example" + glob)
		if err != nil {
			t.Skip() // dots
		}
		if got, want := r.path.MatchString(path), globMatches(r.Path, path); got != want {
			t.Fatalf("%q and %q: %v", r.Path, path, got)
		}
	})
}

// FuzzReadings: no path makes the reader fall over; all readings are clean, and
// none of the ways to go up leads out of an allowed directory.
func FuzzReadings(f *testing.F) {
	for _, seed := range []string{"/a/../b", "/%2e%2e/%252e;x//y\\..", "/a%2f%5c", "*", "/%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		all := readings(path)
		for _, r := range all {
			segments := strings.Split(r, "/")[1:]
			if r[0] != '/' || slices.Contains(segments, "..") || slices.Contains(segments, ".") || r != "/" && slices.Contains(segments, "") {
				t.Fatalf("%q is read as %q", path, r)
			}
		}
		if len(all) > 64 {
			t.Fatalf("%d readings", len(all))
		}
	})
}
