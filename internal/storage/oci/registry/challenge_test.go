package registry

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestChallenges(t *testing.T) {
	for header, want := range map[string][]challenge{
		"":               nil,
		"Basic realm=x":  {{"basic", map[string]string{"realm": "x"}}},
		"Negotiate, ,":   {{"negotiate", map[string]string{}}},
		`BEARER a = "b"`: {{"bearer", map[string]string{"a": "b"}}},
		`Bearer realm="https://t.example/token?a=b,c",service="s \"q\" \\",Scope="repository:a/b:pull,push"`: {
			{"bearer", map[string]string{"realm": "https://t.example/token?a=b,c", "service": `s "q" \`, "scope": "repository:a/b:pull,push"}}},
		`Negotiate YII==, Basic realm="a", Bearer realm="b" , x=y`: {
			{"negotiate", map[string]string{"yii": ""}}, {"basic", map[string]string{"realm": "a"}}, {"bearer", map[string]string{"realm": "b", "x": "y"}}},
		`Bearer realm="cut of`: {{"bearer", map[string]string{"realm": "cut of"}}},
		`Bearer realm="x\`:     {{"bearer", map[string]string{"realm": `x\`}}},
		`a=b`:                  nil,
		`(x), Basic`:           {{"basic", map[string]string{}}},
	} {
		same := func(a, b challenge) bool { return a.scheme == b.scheme && maps.Equal(a.params, b.params) }
		if got := parseChallenges(header); !slices.EqualFunc(got, want, same) {
			t.Errorf("%s: %v; want %v", header, got, want)
		}
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Bearer realm="https://t.example/token",service=s, Basic realm="\"`)
	f.Add(`=,"\`)
	f.Fuzz(func(t *testing.T, header string) {
		for _, c := range parseChallenges(header) {
			if c.scheme == "" || c.params == nil || strings.ContainsAny(c.scheme, " =,\"") {
				t.Errorf("%q: %+v", header, c)
			}
		}
	})
}

// A registry must not be able to send our password wherever it likes.
func TestTokenServersThatAreTrusted(t *testing.T) {
	somebody := Credential{Username: "u", Password: "p"}
	for _, c := range []struct {
		registry string
		plain    bool
		who      Credential
		realm    string
		trusted  bool
	}{
		{"r.example", false, somebody, "https://t.example/token", true},
		{"r.example", false, somebody, "http://t.example/token", false},
		{"r.example", false, Credential{}, "http://t.example/token", false},
		{"r.example", false, somebody, "http://127.0.0.1:8080/", false},
		{"r.example", false, somebody, "http://r.example/token", false},
		{"r.example", true, somebody, "http://r.example/token", false},
		{"r.example", true, Credential{Token: "t"}, "http://r.example/token", false},
		{"r.example", true, Credential{}, "http://r.example/token", true},
		{"r.example", true, Credential{}, "http://10.0.0.1/token", false},
		{"localhost:5000", false, somebody, "http://127.0.0.1:5001/token", true},
		{"localhost:5000", false, somebody, "http://localhost.example/token", false},
		{"[::1]:5000", false, somebody, "http://[::1]:5001/token", true},
	} {
		r := newClient(mustParse(t, c.registry+"/box"), c.plain, "pull", c.who)
		if _, err := r.realm(c.realm); (err == nil) != c.trusted || err != nil && forkbox.CodeOf(err) != forkbox.Denied {
			t.Errorf("%s says %s: %v", c.registry, c.realm, err)
		}
	}
	for _, realm := range []string{"token", "ftp://t.example/", "https:///x", ":", "file:///etc/passwd"} {
		if _, err := newClient(mustParse(t, "localhost/box"), false, "pull", somebody).realm(realm); err == nil {
			t.Errorf("%q is an address", realm)
		}
	}
}

func mustParse(t *testing.T, name string) Reference {
	t.Helper()
	r, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestScopes(t *testing.T) {
	c := &client{repository: "a/b", actions: "pull"}
	for asked, want := range map[string]string{
		"":                    "repository:a/b:pull",
		"repository:a/b:pull": "repository:a/b:pull",
		"repository:a/b:pull,push repository:c:pull": "repository:a/b:pull repository:a/b:pull,push repository:c:pull",
		"odd": "repository:a/b:pull odd",
	} {
		if got := strings.Join(c.scopes(asked), " "); got != want {
			t.Errorf("%q: %q; want %q", asked, got, want)
		}
	}
}

func TestTokenAnswers(t *testing.T) {
	for data, want := range map[string]string{
		`{"token":"a"}`: "a", `{"access_token":"b"}`: "b", `{"token":"a","access_token":"b"}`: "b",
		`{}`: "", `{`: "", `{"token":"a\r\nX: y"}`: "", `{"token":"ä"}`: "", `[]`: "",
	} {
		if got, err := parseToken([]byte(data)); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", data, got, err)
		}
	}
}
