package apitest

import (
	"reflect"
	"testing"

	"github.com/forkbox/forkbox/api"
)

// Every route can be attacked in every way, and the same seed makes the same
// attacks: what was found once is found again.
func TestAttacksAreOfAllKindsAndTheSameAgain(t *testing.T) {
	one, two := NewAttacker(1, map[string]string{"box": "b"}), NewAttacker(1, map[string]string{"box": "b"})
	for _, route := range api.Routes() {
		kinds := map[string]bool{}
		for range 60 {
			attack := one.Draw(route)
			kinds[attack.Kind] = true
			if again := two.Draw(route); !reflect.DeepEqual(attack, again) {
				t.Fatalf("%v is %v the second time", attack, again)
			}
		}
		for _, kind := range []string{"nothing", "query", "header", "body"} {
			if !kinds[kind] {
				t.Errorf("%s: no attack on its %s", route.Name, kind)
			}
		}
		if route.In != nil && (!kinds["value"] || !kinds["member"] || !kinds["text"]) {
			t.Errorf("%s: %v", route.Name, kinds)
		}
	}
}
