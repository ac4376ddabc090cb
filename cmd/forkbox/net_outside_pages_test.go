//go:build linux

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/miekg/dns"
)

// tunnelTo makes the servers on ports without TLS proxies as well. Wherever the
// client wants to go, it gets to the world's own server of that port.
func tunnelTo(w http.ResponseWriter, r *http.Request) {
	_, port, _ := net.SplitHostPort(r.Host)
	there, err := net.Dial("tcp", worldAddr4+":"+port)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	go io.Copy(there, here)
	_, _ = io.Copy(here, there)
}

// reflectRequest sends back what it got, as a careless server does, in the form
// that is asked for.
func reflectRequest(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	said, _ := json.Marshal(map[string]any{"header": r.Header, "uri": r.RequestURI, "body": string(body)})
	value := r.Header.Get("X-Key")
	switch r.FormValue("as") {
	case "header":
		w.Header().Set("X-Your-Key", value)
	case "base64":
		fmt.Fprintln(w, base64.StdEncoding.EncodeToString([]byte(value)))
	case "bytewise": // no chunk has more than one byte of it
		for _, b := range []byte(value) {
			_, _ = w.Write([]byte{b})
			w.(http.Flusher).Flush()
		}
	case "trailer":
		w.Header().Set("Trailer", "X-Your-Key")
		_, _ = io.WriteString(w, "see below\n")
		w.Header().Set("X-Your-Key", value)
	default:
		_, _ = w.Write(said)
	}
}

// sendBytes sends as many as were asked for, and reads all that come.
func sendBytes(w http.ResponseWriter, r *http.Request) {
	got, _ := io.Copy(io.Discard, r.Body)
	if r.Method != http.MethodGet {
		fmt.Fprintln(w, got)
		return
	}
	chunk := make([]byte, 64<<10)
	for left := numberOf(r, "n", 0); left > 0; left -= len(chunk) {
		if _, err := w.Write(chunk[:min(left, len(chunk))]); err != nil {
			return
		}
	}
}

// holdRequest answers half, and the rest when the test says so.
func (o *outside) holdRequest(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "first half\n")
	w.(http.Flusher).Flush()
	select {
	case <-o.held(r.FormValue("key")):
		_, _ = io.WriteString(w, "second half\n")
	case <-r.Context().Done():
	case <-time.After(time.Minute):
	}
}

// overHTTPS is a name server for who speaks DNS over HTTPS.
func (o *outside) overHTTPS(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if r.Method == http.MethodGet {
		raw, err = base64.RawURLEncoding.DecodeString(r.FormValue("dns"))
	}
	q := new(dns.Msg)
	if err != nil || q.Unpack(raw) != nil {
		http.Error(w, "not a question", http.StatusBadRequest)
		return
	}
	packed, _ := o.names.reply(q, "https").Pack()
	w.Header().Set("Content-Type", "application/dns-message")
	_, _ = w.Write(packed)
}
