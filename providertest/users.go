package providertest

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

var userChecks = []check{
	{"ByName", func(t *testing.T, r *Running) { runsAs(t, r, "nobody", "nobody") }},
	{"ByNumber", func(t *testing.T, r *Running) { runsAs(t, r, "4321", "4321") }},
	{"MadeInTheBox", madeInTheBox},
	{"NoSuchUser", func(t *testing.T, r *Running) { refusesUser(t, r, "no-such-user", forkbox.Invalid) }},
}

var oneUserChecks = []check{
	{"OwnerByNumber", func(t *testing.T, r *Running) { runsAs(t, r, itoa(r.Box.Owner.UID), itoa(r.Box.Owner.UID)) }},
	{"OthersAreRefused", func(t *testing.T, r *Running) { refusesUser(t, r, "root", forkbox.Unsupported) }},
}

func runsAs(t *testing.T, r *Running, user, want string) {
	spec := Shell("id -un 2>/dev/null; id -u")
	spec.User = user
	if got := strings.Fields(r.Run(spec, nil).Stdout); len(got) == 0 || got[0] != want && got[len(got)-1] != want {
		t.Errorf("ran as %v", got)
	}
}

func madeInTheBox(t *testing.T, r *Running) {
	r.Sh("echo newcomer:x:5432:5433::/:/bin/sh >>/etc/passwd; echo club:x:5434:a,newcomer >>/etc/group")
	spec := Shell("id -u; id -g; id -G")
	spec.User = "newcomer"
	if got := r.Run(spec, nil).Stdout; got != "5432\n5433\n5433 5434\n" {
		t.Errorf("ran as %q", got)
	}
}

func refusesUser(t *testing.T, r *Running, user string, want forkbox.Code) {
	spec := Shell("true")
	spec.User = user
	if _, err := r.Try(spec, nil); err == nil || forkbox.CodeOf(err) != want {
		t.Errorf("got %v", err)
	}
}
