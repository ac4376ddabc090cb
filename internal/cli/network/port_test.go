package network

import (
	"testing"

	"github.com/forkbox/forkbox"
)

func TestPublishedPort(t *testing.T) {
	for text, want := range map[string]forkbox.Port{"3000": {Box: 3000}, "3000:80": {Box: 3000, Host: 80}, "1:65535": {Box: 1, Host: 65535}} {
		if got, err := parsePublished(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, bad := range []string{"", ":", "0", "3000:0", "3000:", ":80", "65536", "-1", "+1", "0x50", "80/tcp", "1:2:3", " 80", "8 0"} {
		if got, err := parsePublished(bad); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%q: %+v %v", bad, got, err)
		}
	}
}
