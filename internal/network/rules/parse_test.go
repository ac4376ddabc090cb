package rules

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
)

// TestParse: every way to write a rule, and the one way it is written back.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"allow git.example.com:443":                   "",
		"deny *.evil.org":                             "",
		"allow udp:ntp.example.com:123":               "",
		"allow 10.0.0.0/8:5432":                       "",
		"allow GET,HEAD api.example.com/repos/**":     "",
		"allow npm.corp.example:443 private":          "",
		"allow *":                                     "",
		"allow any:*:1-1023":                          "",
		"allow any:0.0.0.0/0":                         "",
		"allow any:::/0":                              "",
		"allow ::/0:443":                              "!",
		"allow 2001:db8::1":                           "",
		"allow [2001:db8::1]:443":                     "",
		"allow [2001:db8::/32]:443,8443":              "",
		"deny [2001:db8::/32]":                        "deny 2001:db8::/32",
		"allow ::ffff:203.0.113.7":                    "allow 203.0.113.7",
		"allow [::ffff:203.0.113.0/120]:1":            "allow 203.0.113.0/24:1",
		"allow 203.0.113.7/32":                        "allow 203.0.113.7",
		"allow GIT.Example.COM.:443":                  "allow git.example.com:443",
		"  allow   GET   h.example   /a/*/b  private": "allow GET h.example/a/*/b private",
		"allow tcp:h.example:80-90,443":               "allow h.example:80-90,443",
		"allow GET,GET h.example":                     "allow GET h.example",
		"allow h.example/a/":                          "allow h.example/a",
		"allow h.example/":                            "",
		"allow VERSION-CONTROL h.example:8443/x**y":   "",
		"allow tcp:tcp:443":                           "",
		"deny any:h.example":                          "deny h.example",
		"deny tcp:h.example":                          "",
		"deny any:any:1":                              "",
		"deny tcp:GET h.example":                      "!",
		"deny GET tcp:h.example":                      "deny GET h.example",
		"allow tcp:private":                           "",
		"allow tcp:private private":                   "",
		"allow xn--bcher-kva.example":                 "",
		"allow _srv.host_1.example":                   "",
		"allow localhost":                             "",
		"deny 127.0.0.0/8":                            "",
		"allow 169.254.169.254:80":                    "",
	} {
		got, err := Parse(text)
		if want == "!" {
			if err == nil {
				t.Errorf("%q was read as %q", text, got)
			}
			continue
		}
		if want == "" {
			want = text
		}
		if err != nil || got.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestParseParts(t *testing.T) {
	got, err := Parse("deny GET,POST h.example:80-90,443/a/** ")
	want := Rule{Methods: []string{"GET", "POST"}, Proto: "tcp", Host: "h.example", Ports: []Ports{{80, 90}, {443, 443}}, Path: "/a/**"}
	if got.path = nil; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBadRules: each mistake is told with the part that is wrong.
func TestBadRules(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "it is empty",
		"git.example.com":               `it begins with "git.example.com", not with allow or deny`,
		"Allow x.example":               `it begins with "Allow"`,
		"allow":                         "the host is missing",
		"allow private":                 "the host is missing",
		"allow GET":                     `"GET" is a method, and its host is missing`,
		"allow GET private":             `"GET" is a method, and its host is missing`,
		"allow get h.example":           `"get" is no HTTP method`,
		"allow GET, HEAD h.example":     `"" is no HTTP method`,
		"allow GET h.example x.example": `"x.example" is too much`,
		"allow https://h.example/x":     `"https://h.example/x" is a URL`,
		"allow h.example:":              `"" is no port`,
		"allow h.example:0":             `"0" is no port`,
		"allow h.example:0443":          `"0443" is no port`,
		"allow h.example:+443":          `"+443" is no port`,
		"allow h.example:65536":         `"65536" is no port`,
		"allow h.example:90-80":         `"90-80" is no port`,
		"allow h.example:80,,90":        `"" is no port`,
		"allow h.example:https":         `"https" is no port`,
		"allow h.example:" + strings.Repeat("1,", 99): "100 ports are too many, 64 is the most",
		"allow 2001:db8::/32:443":                     `"2001:db8::/32" needs brackets`,
		"allow [2001:db8::]/32:443":                   `"/32:443" follows the address`,
		"allow [10.0.0.1]:443":                        `"[10.0.0.1]:443" is no IPv6 address or range in brackets`,
		"allow [2001:db8::1":                          `"[2001:db8::1" is no IPv6`,
		"allow fe80::1%eth0":                          `"fe80::1%eth0" is neither a host with ports nor an address`,
		"allow 10.0.0.1/8":                            `"10.0.0.1/8" is not where a range of that length begins`,
		"allow ::ffff:0.0.0.0/90":                     `"::ffff:0.0.0.0/90" is a range of IPv4 and more`,
		"allow 10.0.0.0/33":                           `"10.0.0.0" is no host name: some programs take it for an address`,
		"allow 0177.0.0.1":                            `"0177.0.0.1" is no host name: some programs take it for an address`,
		"allow 2130706433":                            "some programs take it for an address",
		"allow 0x7f.1":                                "some programs take it for an address",
		"allow 0X7F000001":                            "some programs take it for an address",
		"allow 127.1":                                 "some programs take it for an address",
		"allow *.1":                                   "some programs take it for an address",
		"allow h.0x":                                  "some programs take it for an address",
		"allow 1.2.3.4.5":                             "some programs take it for an address",
		"allow a.*.example":                           "has a * in it",
		"allow *x.example":                            "has a * in it",
		"allow *.*":                                   "has a * in it",
		"allow bücher.example":                        `'\u00fc' is not ASCII`,
		"allow h.example\n":                           `'\n' is a control character`,
		"allow h.example\tprivate":                    `'\t' is a control character`,
		"allow h.example\x00":                         `'\x00' is a control character`,
		"allow \xff":                                  "is not ASCII",
		"allow a..example":                            `"" cannot be a part of one`,
		"allow .example":                              `"" cannot be a part of one`,
		"allow -a.example":                            `"-a" cannot be a part of one`,
		"allow a!.example":                            `"a!" cannot be a part of one`,
		"allow a@b.example":                           `"a@b" cannot be a part of one`,
		"allow " + strings.Repeat("a", 64) + ".b":     "cannot be a part of one",
		"allow " + strings.Repeat("a.", 127) + "bb":   "253 at most",
		"allow " + strings.Repeat("a", 1024):          "1030 bytes, and 1024 is the most",
		"allow h.example/%2e":                         `"%" cannot be in a path`,
		"allow h.example/a?b":                         `"?" cannot be in a path`,
		"allow h.example/a;b":                         `";" cannot be in a path`,
		"allow h.example/a/../b":                      `"/a/../b" has an empty segment, or a dot`,
		"allow h.example/a//b":                        `"/a//b" has an empty segment`,
		"allow h.example/a /b":                        "is a second path",
		"allow h.example/" + strings.Repeat("*", 17):  "more than 16 stars",
		"allow GET 10.0.0.0/8":                        "methods and paths are for host names",
		"allow 10.0.0.0/8 /x":                         "methods and paths are for host names",
		"allow GET udp:h.example":                     "methods and paths go over tcp, not udp",
		"allow any:h.example/x":                       "methods and paths go over tcp, not any",
		"allow 10.0.0.0/8 private":                    `"private" is for host names`,
		"deny h.example private":                      `"private" widens`,
		"allow 127.0.0.1:5432":                        "127.0.0.1 is a loopback address, which no rule can allow",
		"allow ::1":                                   "::1 is a loopback address",
		"allow 224.0.0.0/8":                           "multicast",
		"allow 198.18.0.1":                            "reserved",
	} {
		r, err := Parse(text)
		var bad *forkbox.Error
		if !errors.As(err, &bad) || bad.Code != forkbox.Invalid || !strings.Contains(bad.Why, want) {
			t.Errorf("%q: %q, %v\nwant %s", text, r, err, want)
			continue
		}
		if strings.ContainsAny(err.Error(), "\n\x00") || !utf8.ValidString(err.Error()) || len(err.Error()) > 600 {
			t.Errorf("%q: %q", text, err)
		}
	}
}

// TestPunycodeHint: who writes a name in their own script learns how.
func TestPunycodeHint(t *testing.T) {
	_, err := Parse("allow bücher.example")
	var bad *forkbox.Error
	if !errors.As(err, &bad) || len(bad.Hints) != 1 || !strings.Contains(bad.Hints[0], "punycode") {
		t.Error(err)
	}
}

// FuzzParse: no text makes the reader fall over; what it reads it writes so
// that it reads the same again, in printable ASCII on one line.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"allow git.example.com:443", "deny GET,HEAD api.example.com:1-2,3/a/**", "allow any:[fd00::/8]:443", "allow ::ffff:10.0.0.0/104",
		"allow tcp:private private", "allow udp:udp:1", "allow h /x private", "deny *"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			if forkbox.CodeOf(err) != forkbox.Invalid || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Fatalf("%q", err)
			}
			return
		}
		out := r.String()
		if strings.ContainsFunc(out, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q became %q", text, out)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		if r.path, again.path = nil, nil; !reflect.DeepEqual(r, again) {
			t.Fatalf("%q became %q: %+v and %+v", text, out, r, again)
		}
	})
}
