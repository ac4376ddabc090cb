//go:build unix

package client

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Paths are bytes: they arrive as they were sent, whatever is in them.
func TestDiffQueryKeepsEveryByte(t *testing.T) {
	paths := forkbox.Strings{"/w/a&b=c", "/w/new\nline", "/w/\xff\xfe", "/w/ü +%"}
	q, err := url.ParseQuery(diffQuery(forkbox.DiffSpec{Selection: forkbox.Selection{Paths: paths, Exact: true, All: true}, Against: "other"}).Encode())
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{"path": paths, "exact": {"1"}, "all": {"1"}, "against": {"other"}}
	if !reflect.DeepEqual(q, want) {
		t.Errorf("%q", q)
	}
}

func TestDiffQueryAsksForNothingByItself(t *testing.T) {
	if got := diffQuery(forkbox.DiffSpec{}).Encode(); got != "" {
		t.Error(got)
	}
	if got := diffQuery(forkbox.DiffSpec{Patch: true, Stat: true, Hash: true, Renames: true}).Encode(); got != "hash=1&patch=1&renames=1&stat=1" {
		t.Error(got)
	}
}

// A refusal that is about every file of a large tree arrives whole.
func TestRefusalWithManyItems(t *testing.T) {
	e := forkbox.Errorf(forkbox.Conflict, "apply", "all of them")
	for range 50000 {
		e.About("/w/some/file/with/a/path", "reality and the box changed the same lines")
	}
	body, err := json.Marshal(api.ErrorBody{Error: e})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(shortDir(t), "s")
	answering(t, socket, 409, string(body))
	_, err = New(socket).Apply(t.Context(), "b", forkbox.ApplySpec{})
	got, ok := err.(*forkbox.Error)
	if !ok || got.Code != forkbox.Conflict || len(got.Items) != 50000 {
		t.Errorf("%.200v", err)
	}
}

func TestAReceiptThatIsNotNamedIsNone(t *testing.T) {
	for ref, want := range map[string]string{"": "/v1/receipts/%25", "3f": "/v1/receipts/3f", "..": "/v1/receipts/%25"} {
		if got := api.GetReceipt.URL(nil, ref); got != want {
			t.Errorf("%q: %s", ref, got)
		}
	}
}
