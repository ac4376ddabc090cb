package app

import "testing"

func TestSecondSideOfADiff(t *testing.T) {
	for arg, want := range map[string]bool{
		"try@1": true, "try@": true, "0123456789ab@auto-1": true,
		"@types": false, "node_modules/@types": false, "./a@b": false, "/a@b": false, "a.b@c": false, "try": false,
		"a@b/c": false, "A@b": false, "": false, "@": false,
	} {
		if got := NamesSnapshot(arg); got != want {
			t.Errorf("%q: %v", arg, got)
		}
	}
}
