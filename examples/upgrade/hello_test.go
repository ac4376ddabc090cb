package hello

import (
	"reflect"
	"testing"
)

func TestVisitors(t *testing.T) {
	got := Visitors([]string{"Ada", "Alan"})
	if want := []string{"Hello, Ada!", "Hello, Alan!"}; !reflect.DeepEqual(got, want) {
		t.Errorf("visitors hear %q", got)
	}
}
