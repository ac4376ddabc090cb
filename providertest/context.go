package providertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

var contextChecks = []check{
	{"Arguments", arguments},
	{"Environment", environment},
	{"Directory", directory},
	{"Umask", umask},
	{"Processes", processes},
}

func arguments(t *testing.T, r *Running) {
	for _, want := range []string{"", "a b", "a\nb", `"'$(x)\`, "ünï", "caf\xe9", "\xff\xfe", "--"} {
		t.Run(fmt.Sprintf("%q", want), func(t *testing.T) {
			res := r.with(t).Run(forkbox.ExecSpec{Argv: Tool("argv", want)}, nil)
			if got := strings.TrimSuffix(res.Stdout, "\n"); got != fmt.Sprintf("%q", want) {
				t.Errorf("arrived as %s", got)
			}
		})
	}
}

// environment: exactly what was given, but for PWD and the mark that a
// provider may need to find what the exec started.
func environment(t *testing.T, r *Running) {
	given := []string{"A=1", "EMPTY=", "SPACE=a b", "LINE=a\nb", "BYTES=\xff\xfe", "A=2"}
	res := r.Run(forkbox.ExecSpec{Argv: []string{"/usr/bin/env", "-0"}, Env: given}, nil)
	var got []string
	for _, v := range strings.Split(strings.TrimRight(res.Stdout, "\x00"), "\x00") {
		if !strings.HasPrefix(v, "PWD=") && !strings.HasPrefix(v, "FORKBOX_") {
			got = append(got, v)
		}
	}
	slices.Sort(got)
	want := []string{"A=2", "BYTES=\xff\xfe", "EMPTY=", "LINE=a\nb", "SPACE=a b"}
	if alsoFine := append([]string{"A=1"}, want...); !slices.Equal(got, want) && !slices.Equal(got, alsoFine) {
		t.Errorf("got %q", got)
	}
}

func directory(t *testing.T, r *Running) {
	res := r.Run(forkbox.ExecSpec{Argv: []string{"sh", "-c", "pwd; pwd -P"}, Dir: "/usr/bin"}, nil)
	if res.Stdout != "/usr/bin\n/usr/bin\n" {
		t.Errorf("ran in %q", res.Stdout)
	}
}

func umask(t *testing.T, r *Running) {
	for _, want := range []int{0o077, 0o002, 0} {
		spec := Shell("umask")
		spec.Umask = &want
		if res := r.Run(spec, nil); res.Stdout != fmt.Sprintf("%04o\n", want) {
			t.Errorf("umask %04o arrived as %s", want, res.Stdout)
		}
	}
	if got := r.Sh("umask"); got != "0022" {
		t.Errorf("without one the umask is %s", got)
	}
}

func processes(t *testing.T, r *Running) {
	theirs, ours := r.lab.Pipes()
	defer ours.Close()
	id := r.ID()
	if err := r.Exec(id, forkbox.ExecSpec{Argv: []string{"sleep", "12345"}}, theirs, logCap); err != nil {
		t.Fatal(err)
	}
	list, err := r.Instance.Processes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if slices.Equal(p.Command, []string{"sleep", "12345"}) {
			if p.UID != r.Box.Owner.UID || p.PID <= 1 || p.Started.IsZero() || p.State == "" {
				t.Errorf("listed as %+v", p)
			}
			_ = r.Instance.Kill(context.Background(), id, 0)
			return
		}
	}
	t.Errorf("it is not listed: %+v", list)
}
