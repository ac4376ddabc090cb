package layers

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

func TestEscape(t *testing.T) {
	for mount, want := range map[string]string{
		"/":            "-",
		"/home":        "home",
		"/mnt/a-b":     `mnt-a\x2db`,
		"/.snapshots":  `\x2esnapshots`,
		"/a/.b":        "a-.b",
		`/a\b`:         `a\x5cb`,
		"/new\nline":   `new\x0aline`,
		"/not\xffutf8": `not\xffutf8`,
		"/-":           `\x2d`,
	} {
		if got, err := Escape(mount); err != nil || got != want {
			t.Errorf("Escape(%q) = %q, %v, want %q", mount, got, err, want)
		}
	}
}

func TestEscapeRefuses(t *testing.T) {
	for _, mount := range []string{"", "home", "/home/", "//", "/a/../b", "/a\x00b"} {
		if got, err := Escape(mount); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("Escape(%q) = %q, %v", mount, got, err)
		}
	}
	if _, err := Escape("/" + strings.Repeat("a", 256)); forkbox.CodeOf(err) != forkbox.Unsupported {
		t.Errorf("a long name: %v", err)
	}
	for _, name := range []string{"", ".", "..", "a--b", "-a", "a-", `a\x`, `a\x2`, `a\x2D`, `a\x61`, "a b", "a-.."} {
		if mount, err := Unescape(name); err == nil {
			t.Errorf("Unescape(%q) = %q", name, mount)
		}
	}
}

func TestEscapeRoundTrip(t *testing.T) {
	part := rapid.StringMatching(`[-.\\x0-9a-f_ é]{1,12}`)
	raw := rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 12), func(b []byte) string { return string(b) })
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(part, raw), 0, 4).Draw(t, "parts")
		checkRoundTrip(t, path.Clean("/"+strings.Join(parts, "/")))
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"/", "/home", `/mnt/a-b`, `a\x2db`, "-", "/\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkRoundTrip(t, s)
		if mount, err := Unescape(s); err == nil {
			if name, err := Escape(mount); err != nil || name != s {
				t.Fatalf("Unescape(%q) = %q, which is escaped as %q, %v", s, mount, name, err)
			}
		}
	})
}

func checkRoundTrip(t interface{ Fatalf(string, ...any) }, mount string) {
	name, err := Escape(mount)
	if err != nil {
		return
	}
	if name == "." || name == ".." || len(name) > 255 || strings.ContainsAny(name, "/\x00") {
		t.Fatalf("Escape(%q) = %q is not a file name", mount, name)
	}
	if got, err := Unescape(name); err != nil || got != mount {
		t.Fatalf("Unescape(Escape(%q)) = %q, %v", mount, got, err)
	}
}
