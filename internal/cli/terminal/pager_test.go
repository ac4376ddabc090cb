//go:build unix

package terminal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPagerIsChosenAsGitDoes(t *testing.T) {
	for _, row := range []struct {
		env  map[string]string
		want string
	}{
		{nil, "less"},
		{map[string]string{"PAGER": "more"}, "more"},
		{map[string]string{"PAGER": "more", "GIT_PAGER": "delta"}, "delta"},
		{map[string]string{"PAGER": "more", "GIT_PAGER": "delta", "FORKBOX_PAGER": "less -S"}, "less -S"},
		{map[string]string{"PAGER": "more", "FORKBOX_PAGER": ""}, ""},
		{map[string]string{"PAGER": "cat"}, ""},
		{map[string]string{"TERM": "dumb"}, ""},
		{map[string]string{"TERM": "dumb", "PAGER": "more"}, "more"},
	} {
		got := pagerCommand(func(name string) (string, bool) { value, set := row.env[name]; return value, set })
		if got != row.want {
			t.Errorf("%v: %q, not %q", row.env, got, row.want)
		}
	}
}

// output is a file that collects what a console and its children print.
func output(t *testing.T) (*Terminal, func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &Terminal{Stdout: f, Stderr: f}, func() string {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestPagerGetsTheText(t *testing.T) {
	t.Setenv("LESS", "")
	os.Unsetenv("LESS")
	for command, want := range map[string]string{
		"":                           "one\ntwo\n",
		"sed 's/^/> /'":              "> one\n> two\n",
		"sh -c 'echo $LESS $LV;cat'": "FRX -c\none\ntwo\n",
		"no-such-pager":              "cannot start the pager",
		"less-is-missing-too --flag": "one\ntwo\n",
	} {
		a, text := output(t)
		begun := 0
		p := &paged{Terminal: a, command: command, Begin: func() { begun++ }}
		p.Write([]byte("one\n"))
		p.Write([]byte("two\n"))
		p.Close()
		if !strings.Contains(text(), want) || begun != 1 {
			t.Errorf("%q: %q (begun %d times)", command, text(), begun)
		}
	}
}

func TestPagerThatIsLeftEarlyIsNoFailure(t *testing.T) {
	a, text := output(t)
	p := &paged{Terminal: a, command: "head -n1", Begin: func() {}}
	var err error
	for range 1000 {
		if _, err = p.Write(bytes.Repeat([]byte("line\n"), 1000)); err != nil {
			break
		}
	}
	p.Close()
	if !errors.Is(err, errSeenEnough) || UnlessSeen(err) != nil {
		t.Errorf("%v", err)
	}
	if text() != "line\n" {
		t.Errorf("%q", text())
	}
	if UnlessSeen(os.ErrPermission) == nil {
		t.Error("a real failure was forgotten")
	}
}

func TestNothingToPageStartsNoPager(t *testing.T) {
	a, text := output(t)
	p := &paged{Terminal: a, command: "sh -c 'echo started'", Begin: func() { t.Error("begun") }}
	p.Close()
	if text() != "" {
		t.Errorf("%q", text())
	}
}
