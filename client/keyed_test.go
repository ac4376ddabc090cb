package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestALostAnswerIsAskedForAgain: with the same key and the same body, and only where
// the route takes a key.
func TestALostAnswerIsAskedForAgain(t *testing.T) {
	var keys, bodies []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		keys, bodies = append(keys, r.Header.Get(api.KeyHeader)), append(bodies, string(body))
		if len(keys) == 2 {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"id":"b1"}`)
			return
		}
		panic(http.ErrAbortHandler) // what was done is done, and the answer is lost
	}))
	defer web.Close()
	c, err := NewRemote(Remote{URL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	box, err := c.Create(t.Context(), api.CreateRequest{Name: "try"})
	if err != nil || box.ID != "b1" || len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] || bodies[0] != bodies[1] || bodies[0] == "" {
		t.Errorf("%v %v %q %q", box.ID, err, keys, bodies)
	}
	if err := c.Remove(t.Context(), "b1", false); forkbox.CodeOf(err) != forkbox.Unavailable || len(keys) != 3 || keys[2] != "" {
		t.Errorf("a removal: %v %q", err, keys)
	}
	if _, err := c.Create(WithKey(t.Context(), "mine"), api.CreateRequest{}); err == nil || keys[3] != "mine" || len(keys) != 5 {
		t.Errorf("a key of the caller's: %v %q", err, keys)
	}
}
