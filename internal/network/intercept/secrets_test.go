package intercept

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// clean checks that nothing that left the gate towards the box, or was recorded,
// has the value in any form that is looked for.
func (w *world) clean(texts ...any) {
	w.Helper()
	texts = append(texts, w.records(), w.refused)
	for _, each := range texts {
		for _, text := range []string{fmt.Sprintf("%+v", each), fmt.Sprintf("%q", each)} {
			for _, form := range forms([]byte(testValue)) {
				if strings.Contains(text, string(form)) {
					w.Errorf("%q is in %s", form, text)
				}
			}
		}
	}
}

func TestASecretIsPutIn(t *testing.T) {
	basic := func(password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+password))
	}
	for _, h2 := range []bool{false, true} {
		var seen http.Header
		w := newWorld(t, setup{secrets: bound("other.example.com", "*.example.com")}, func(w http.ResponseWriter, r *http.Request) {
			seen = r.Header.Clone()
		})
		cases := []struct{ name, sent, got string }{
			{"Authorization", "Bearer " + placeholder, "Bearer " + testValue},
			{"X-Api-Key", placeholder, testValue},
			{"X-Twice", placeholder + " " + placeholder, testValue + " " + testValue},
			{"Authorization", basic(placeholder), basic(testValue)},
			{"Authorization", "bAsIc " + basic(placeholder)[6:], "bAsIc " + basic(testValue)[6:]},
			{"Authorization", basic("another"), basic("another")},
			{"Authorization", "Basic ???", "Basic ???"},
			{"X-Other", placeholder[:20], placeholder[:20]},
		}
		for n, c := range cases {
			answer, body := w.get(h2, fmt.Sprint("/", n), c.name, c.sent)
			want(t, c.name, seen.Get(c.name), c.got)
			want(t, "status", answer.StatusCode, 200)
			want(t, "body", body, "")
		}
		// An answer is on record when its exchange has ended, which the next one may do first.
		used := map[string]string{}
		for _, x := range w.records() {
			used[x.Verdict.Target.Path] = strings.Join(x.Secrets, ",")
		}
		want(t, "records", len(used), len(cases))
		for n, c := range cases {
			recorded := "TOKEN"
			if c.sent == c.got {
				recorded = ""
			}
			want(t, c.name+" recorded", used[fmt.Sprint("/", n)], recorded)
		}
		w.clean()
	}
}

func TestWhereASecretIsNotPutIn(t *testing.T) {
	for name, s := range map[string]setup{
		"other host": {secrets: bound("other.example.com", "*.api.example.com", "example.com")},
		"in clear":   {plain: true, secrets: bound(testHost)},
		"none":       {},
	} {
		var seen, path string
		w := newWorld(t, s, func(w http.ResponseWriter, r *http.Request) {
			seen, path = r.Header.Get("Authorization"), r.RequestURI
		})
		w.get(false, "/"+placeholder+"?q="+placeholder, "Authorization", placeholder)
		want(t, name, seen, placeholder)
		want(t, name, path, "/"+placeholder+"?q="+placeholder)
		want(t, name, len(w.records()[0].Secrets), 0)
	}
}

func TestNeitherURLNorBodyGetASecret(t *testing.T) {
	w := newWorld(t, setup{secrets: bound(testHost)}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.RequestURI, body)
	})
	r, err := http.NewRequest("POST", w.url("/"+placeholder+"?q="+placeholder), strings.NewReader(placeholder))
	must(t, err)
	r.Header.Set("Authorization", placeholder)
	_, body := w.do(true, r)
	want(t, "what the server got", body, "/"+placeholder+"?q="+placeholder+" "+placeholder)
}

// TestASecretDoesNotComeBack has a server that repeats it in every way it can.
func TestASecretDoesNotComeBack(t *testing.T) {
	value := func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") }
	echo := func(w http.ResponseWriter, r *http.Request) {
		v := value(r)
		quoted, _ := json.Marshal(v)
		w.Header().Set("Trailer", "X-After")
		w.Header().Set("Link", "<"+v+">")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Echo", "a"+v+"b")
		w.Header().Set("Location", "https://evil.example.net/?t="+url.QueryEscape(v))
		for _, b := range []byte(v + v + string(quoted) + hex.EncodeToString([]byte(v)) + base64.StdEncoding.EncodeToString([]byte("u:"+v)) + base64.URLEncoding.EncodeToString([]byte(v))) {
			_, _ = w.Write([]byte{b})
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-After", v)
		w.Header().Set(http.TrailerPrefix+"X-Unannounced", v)
	}
	for _, h2 := range []bool{false, true} {
		for _, h1 := range []bool{false, true} {
			w := newWorld(t, setup{h1: h1, secrets: bound(testHost)}, echo)
			answer, body := w.get(h2, "/", "Authorization", "Bearer "+placeholder)
			want(t, "echoed header", answer.Header.Get("X-Echo"), "a"+placeholder+"b")
			want(t, "location", answer.Header.Get("Location"), "https://evil.example.net/?t="+placeholder)
			want(t, "trailer", answer.Trailer.Get("X-After"), placeholder)
			want(t, "unannounced trailer", answer.Trailer.Get("X-Unannounced"), placeholder)
			want(t, "placeholders in "+body, strings.Count(body, placeholder), 6)
			w.clean(answer.Header, answer.Trailer, body)
		}
	}
	w := newWorld(t, setup{secrets: bound(testHost)}, echo)
	all := w.say("GET / HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer " + placeholder + "\r\nConnection: close\r\n\r\n")
	wantIn(t, all, "103 Early Hints\r\nLink: <"+placeholder+">")
	w.clean(all)
}

// The answer to a request without the placeholder can have the value as well: a
// server remembers.
func TestWhatAServerRememberedDoesNotComeBack(t *testing.T) {
	var kept string
	for _, plain := range []bool{false, true} {
		w := newWorld(t, setup{plain: plain, secrets: bound(testHost)}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keep" {
				kept = r.Header.Get("X-Key")
			}
			fmt.Fprint(w, testValue)
		})
		w.get(false, "/keep", "X-Key", placeholder)
		_, body := w.get(false, "/")
		want(t, "body", body, placeholder)
		w.clean(body)
	}
	want(t, "the server has", kept, placeholder) // it was in clear the last time
}

func TestNamesOfHeadersDoNotTell(t *testing.T) {
	secrets := bound(testHost)
	secrets[0].Value = []byte("AbCdEfGh1234")
	w := newWorld(t, setup{secrets: secrets}, func(w http.ResponseWriter, r *http.Request) {
		v := r.Header.Get("X-Key")
		w.Header()["X-"+v] = []string{"1"}
		w.Header().Add("Trailer", "Y-"+v)
		fmt.Fprint(w, "body")
		w.Header().Set("Y-"+v, "1")
		w.Header().Set(http.TrailerPrefix+"Z-"+v, "1")
	})
	answer, _ := w.get(true, "/", "X-Key", placeholder)
	for _, headers := range []http.Header{answer.Header, answer.Trailer} {
		if all := strings.ToLower(fmt.Sprint(headers)); strings.Contains(all, "abcdefgh1234") {
			t.Error(all)
		}
	}
}

// A status line's words and an answer that is not HTTP come back in no form.
func TestBrokenAnswersDoNotTell(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 200 VALUE\r\nContent-Length: 2\r\n\r\nok", "VALUE\r\n\r\n", "HTTP/1.1 VALUE\r\n\r\n", "HTTP/1.1 200 OK\r\nVALUE\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: VALUE\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: VALUE\r\n\r\n", "HTTP/1.1 101 VALUE\r\nConnection: upgrade\r\nUpgrade: VALUE\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nVALUE\r\n"} {
		w := newWorld(t, setup{h1: true, secrets: bound(testHost)}, func(w http.ResponseWriter, r *http.Request) {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			fmt.Fprint(buffered, strings.ReplaceAll(answer, "VALUE", r.Header.Get("X-Key")))
			buffered.Flush()
			conn.Close()
		})
		got := w.say("GET / HTTP/1.1\r\nHost: HOST\r\nX-Key: " + placeholder + "\r\nConnection: close\r\n\r\n")
		if !strings.Contains(answer, "chunked") { // that one is broken off
			want(t, "answers", strings.HasPrefix(got, "HTTP/1.1 "), true)
		}
		w.clean(got)
	}
}

func TestWhatCannotBeScannedIsRefused(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			fmt.Fprint(zip, r.Header.Get("X-Key"))
			zip.Close()
		},
		"compressed (Grpc-Encoding)": func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Grpc-Encoding", "gzip") },
		"a part":                     func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusPartialContent) },
	} {
		w := newWorld(t, setup{secrets: bound(testHost)}, handler)
		answer, body := w.get(false, "/", "X-Key", placeholder)
		want(t, "status", answer.StatusCode, http.StatusBadGateway)
		wantIn(t, body, name)
		want(t, "mark", answer.Header.Get(OwnAnswer), "failed")
		wantIn(t, w.records()[0].Failure, "cannot be searched for secrets")
	}
}

func TestAnswersAreAskedForReadable(t *testing.T) {
	var seen http.Header
	handler := func(w http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() }
	headers := []string{"Accept-Encoding", "gzip", "Range", "bytes=0-3", "If-Range", `"x"`, "Grpc-Accept-Encoding", "gzip"}
	newWorld(t, setup{secrets: bound(testHost)}, handler).get(true, "/", headers...)
	want(t, "encoding", seen.Get("Accept-Encoding"), "identity")
	want(t, "others", seen.Get("Range")+seen.Get("If-Range")+seen.Get("Grpc-Accept-Encoding"), "")
	newWorld(t, setup{secrets: bound("other.example.com")}, handler).get(true, "/", headers...)
	want(t, "encoding", seen.Get("Accept-Encoding"), "gzip")
	want(t, "range", seen.Get("Range"), "bytes=0-3")
}

func TestNoSecretGoesIntoAWebSocket(t *testing.T) {
	w, reached := counted(t, setup{secrets: bound(testHost)})
	got := w.say("GET /socket HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: " + placeholder + "\r\n\r\n")
	wantIn(t, got, "403 Forbidden", "a WebSocket cannot be looked into")
	want(t, "requests that came through", reached.Load(), int32(0))
	want(t, "refused", len(w.told()), 1)
}

// Without a secret in the request a WebSocket is fine. What the server says when
// it agrees is looked at all the same.
func TestTheAgreementToAWebSocketDoesNotTell(t *testing.T) {
	w := newWorld(t, setup{h1: true, secrets: bound(testHost)}, func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err == nil {
			fmt.Fprintf(buffered, "HTTP/1.1 101 %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Echo: %s\r\n\r\nraw", testValue, testValue)
			buffered.Flush()
			conn.Close()
		}
	})
	got := w.say("GET /socket HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	wantIn(t, got, "HTTP/1.1 101 ", "X-Echo: "+placeholder, "raw")
	w.clean(got)
}

func TestWhichHostsASecretCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		covers        bool
	}{
		{"a.example.com", "a.example.com", true}, {"A.Example.com.", "a.example.com", true}, {"*.example.com", "a.example.com", true},
		{"*.example.com", "a.b.example.com", true}, {"*.example.com", "example.com", false}, {"*.example.com", "evilexample.com", false},
		{"example.com", "a.example.com", false}, {"a.example.com", "a.example.com.evil.net", false}, {"", "", false}, {"*.", "a", false}, {"*", "a", false},
	} {
		want(t, c.pattern+" covers "+c.host, covers(c.pattern, c.host), c.covers)
	}
}

func TestSeveralSecrets(t *testing.T) {
	secrets := []Secret{
		{Name: "A", Hosts: []string{testHost}, Placeholder: "forkbox-secret-a", Value: []byte("value-one-of-two")},
		{Name: "B", Hosts: []string{testHost}, Placeholder: "forkbox-secret-b", Value: []byte("value-one-of-two-and-longer")},
		{Name: "EMPTY", Hosts: []string{testHost}, Placeholder: "", Value: nil},
	}
	w := newWorld(t, setup{secrets: secrets}, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("X-Keys")) })
	_, body := w.get(true, "/", "X-Keys", "forkbox-secret-b, forkbox-secret-a.")
	want(t, "body", body, "forkbox-secret-b, forkbox-secret-a.")
	if used := w.records()[0].Secrets; !slices.Equal(used, []string{"A", "B"}) {
		t.Errorf("used %q", used)
	}
}
