package vault

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

var token = forkbox.Secret{Name: "TOKEN", Hosts: []string{"api.example.com", "*.Example.ORG."}}

const tokenValue = "s3cr3t-v4lue-of-the-token"

func opened(t *testing.T, dir string) *Vault {
	t.Helper()
	v, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func filled(t *testing.T) (*Vault, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vault")
	v := opened(t, dir)
	must(t, v.Set(1000, token, []byte(tokenValue)))
	return v, dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused checks that an error says why, and not what.
func refused(t *testing.T, err error, code forkbox.Code, words string) {
	t.Helper()
	if err == nil || forkbox.CodeOf(err) != code || !strings.Contains(err.Error(), words) {
		t.Fatalf("error is %q (%s), want %q (%s)", err, forkbox.CodeOf(err), words, code)
	}
	if strings.Contains(err.Error(), tokenValue) {
		t.Fatalf("the error tells the value: %q", err)
	}
}

func TestASecretIsKept(t *testing.T) {
	_, dir := filled(t)
	s, value, err := opened(t, dir).Get(1000, "TOKEN")
	must(t, err)
	if string(value) != tokenValue || !slices.Equal(s.Hosts, []string{"api.example.com", "*.example.org"}) || s.Created.IsZero() {
		t.Fatalf("got %+v %q", s, value)
	}
}

func TestSettingAgainKeepsWhenItWasMade(t *testing.T) {
	v, _ := filled(t)
	before, _, err := v.Get(1000, "TOKEN")
	must(t, err)
	later := before.Updated.AddDate(1, 0, 0)
	v.now = func() time.Time { return later }
	must(t, v.Set(1000, token, []byte("another")))
	after, value, err := v.Get(1000, "TOKEN")
	must(t, err)
	if !after.Created.Equal(before.Created) || !after.Updated.Equal(later) || string(value) != "another" {
		t.Fatalf("was %+v, is %+v %q", before, after, value)
	}
}

func TestUsersHaveTheirOwn(t *testing.T) {
	v, _ := filled(t)
	_, _, err := v.Get(1001, "TOKEN")
	refused(t, err, forkbox.NotFound, "none of that name")
	list, err := v.List(1001)
	must(t, err)
	if len(list) != 0 {
		t.Fatalf("another user has %v", list)
	}
}

func TestListAndRemove(t *testing.T) {
	v, _ := filled(t)
	must(t, v.Set(1000, forkbox.Secret{Name: "A", Hosts: []string{"localhost"}}, []byte("x")))
	list, err := v.List(1000)
	must(t, err)
	if len(list) != 2 || list[0].Name != "A" || list[1].Name != "TOKEN" {
		t.Fatalf("list is %+v", list)
	}
	for range 2 { // the second time there is nothing to remove
		must(t, v.Remove(1000, "TOKEN"))
		must(t, v.Remove(4711, "TOKEN"))
	}
	_, _, err = v.Get(1000, "TOKEN")
	refused(t, err, forkbox.NotFound, "none of that name")
}

func TestNothingIsInClear(t *testing.T) {
	_, dir := filled(t)
	for _, file := range files(t, dir) {
		content, err := os.ReadFile(file)
		must(t, err)
		for _, word := range []string{tokenValue, "example"} {
			if bytes.Contains(content, []byte(word)) {
				t.Errorf("%s has %q in clear", file, word)
			}
		}
	}
}

func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, path)
		}
		return err
	}))
	return list
}

func TestWhatIsRefused(t *testing.T) {
	v, _ := filled(t)
	hosts := []string{"api.example.com"}
	for _, c := range []struct {
		name, value string
		hosts       []string
		words       string
	}{
		{"", "x", hosts, "no name"}, {"1A", "x", hosts, "no name"}, {"A-B", "x", hosts, "no name"}, {"../key", "x", hosts, "no name"},
		{"A\n", "x", hosts, "no name"}, {strings.Repeat("A", 129), "x", hosts, "no name"},
		{"A", "", hosts, "empty"}, {"A", tokenValue + "\r\nX: y", hosts, "line break"}, {"A", tokenValue + "\n", hosts, "line break"},
		{"A", tokenValue + "\x00", hosts, "zero byte"}, {"A", strings.Repeat("x", MaxValue+1), hosts, "the most"},
		{"A", "x", nil, "0 hosts"}, {"A", "x", []string{"*"}, "neither a name"}, {"A", "x", []string{"a.*.b"}, "neither"},
		{"A", "x", []string{"https://a.b"}, "neither"}, {"A", "x", []string{"a.b:443"}, "neither"}, {"A", "x", []string{""}, "neither"},
		{"A", "x", []string{"10.0.0.1"}, "an address"}, {"A", "x", []string{"[::1]"}, "an address"}, {"A", "x", []string{"ok.example.com", "bücher.example"}, "neither"},
	} {
		err := v.Set(1000, forkbox.Secret{Name: c.name, Hosts: c.hosts}, []byte(c.value))
		refused(t, err, forkbox.Invalid, c.words)
	}
	refused(t, v.Set(-1, token, []byte("x")), forkbox.Invalid, "no user's id")
	list, err := v.List(1000)
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("list is %v", list)
	}
}

// A user's secrets are bounded, and who has as many as can be still changes them.
func TestThereIsAMostOfSecrets(t *testing.T) {
	v, _ := filled(t)
	for n := range mostSecrets - 1 {
		must(t, v.Set(1000, forkbox.Secret{Name: fmt.Sprintf("S%d", n), Hosts: token.Hosts}, []byte("x")))
	}
	more := forkbox.Secret{Name: "MORE", Hosts: token.Hosts}
	refused(t, v.Set(1000, more, []byte("x")), forkbox.Busy, "which is the most")
	must(t, v.Set(1000, token, []byte("another")))
	must(t, v.Set(1001, more, []byte("x")))
	must(t, v.Remove(1000, "S1"))
	must(t, v.Set(1000, more, []byte("x")))
}

func TestAnyValueComesBack(t *testing.T) {
	v, _ := filled(t)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SliceOfN(rapid.Byte().Filter(func(b byte) bool { return b != 0 && b != '\r' && b != '\n' }), 1, 300).Draw(t, "value")
		if err := v.Set(7, forkbox.Secret{Name: "ANY", Hosts: token.Hosts}, value); err != nil {
			t.Fatal(err)
		}
		if _, got, err := v.Get(7, "ANY"); err != nil || !bytes.Equal(got, value) {
			t.Fatalf("%q came back as %q, %v", value, got, err)
		}
	})
}

func TestPlaceholdersDiffer(t *testing.T) {
	form := regexp.MustCompile(`^forkbox-secret-[0-9a-f]{32}$`)
	if a, b := Placeholder(), Placeholder(); a == b || !form.MatchString(a) {
		t.Fatalf("placeholders are %q and %q", a, b)
	}
}
