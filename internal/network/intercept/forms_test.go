package intercept

import (
	"bytes"
	"slices"
	"testing"
)

// TestFormsOfAnEcho: how a host may give a value back.
func TestFormsOfAnEcho(t *testing.T) {
	value := []byte("s3cr/t-Z")
	list := forms(value)
	for _, want := range []string{
		"s3cr/t-Z", "s3cr%2Ft-Z", "733363722f742d5a", "733363722F742D5A",
		"%73%33%63%72%2F%74%2D%5A", "%73%33%63%72%2f%74%2d%5a", "czNjci90LV",
	} {
		if !slices.ContainsFunc(list, func(form []byte) bool { return bytes.Equal(form, []byte(want)) }) {
			t.Errorf("%s is not looked for", want)
		}
	}
}
