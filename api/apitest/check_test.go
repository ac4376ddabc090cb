package apitest

import (
	"testing"

	"github.com/forkbox/forkbox/api"
)

func TestCheckFindsWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		route  *api.Route
		status int
		body   string
		ok     bool
	}{
		{api.ListBoxes.Route, 200, `{"boxes":[]}`, true},
		{api.ListBoxes.Route, 200, `{"boxes":[],"next":3}`, false},
		{api.ListBoxes.Route, 200, `{}`, false},
		{api.ListBoxes.Route, 200, `{"boxes":[{"id":1}]}`, false},
		{api.ListBoxes.Route, 404, `{"error":{"code":"not-found","message":"m","op":"o","cause":"c"}}`, true},
		{api.ListBoxes.Route, 404, `{"error":{"code":"not-found"}}`, false},
		{api.RemoveBox.Route, 204, ``, true},
		{api.RemoveBox.Route, 204, `{}`, false},
		{api.ReadEvents.Route, 200, "", true},
		{api.ReadEvents.Route, 200, `{"id":"1"}`, false},
	} {
		if err := Check(c.route, c.status, []byte(c.body)); (err == nil) != c.ok {
			t.Errorf("%s %d %s: %v", c.route.Name, c.status, c.body, err)
		}
	}
}
