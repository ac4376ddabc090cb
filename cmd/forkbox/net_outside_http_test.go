//go:build linux

package main

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/websocket"
)

// worldRequest is one that an HTTP server of the world got.
type worldRequest struct {
	At     string // the address that it came to
	SNI    string
	Proto  string
	Method string
	Host   string
	URI    string
	Header http.Header
	Body   int64
}

func (o *outside) serveHTTP() error {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello from %s\n", r.Host) })
	mux.HandleFunc("/reflect", reflectRequest)
	mux.HandleFunc("/bytes", sendBytes)
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("to"), http.StatusFound)
	})
	mux.HandleFunc("/hold", o.holdRequest)
	mux.HandleFunc("/dns-query", o.overHTTPS)
	mux.HandleFunc("/latest/meta-data/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "credentials of the machine\n") })
	mux.Handle("/echo", websocket.Server{Handler: func(c *websocket.Conn) { _, _ = io.Copy(c, c) }})
	mux.Handle("/git/", http.StripPrefix("/git", o.gitBackend()))
	return o.serveOn(o.noting(mux))
}

// serveOn listens on 80, also for HTTP/2 without TLS, and on 443 and 8443.
func (o *outside) serveOn(h http.Handler) error {
	plain := new(http.Protocols)
	plain.SetHTTP1(true)
	plain.SetUnencryptedHTTP2(true)
	for _, port := range []string{"80", "8080", "443", "8443"} {
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			return err
		}
		s := &http.Server{Handler: h, ErrorLog: quietLog()}
		if strings.HasSuffix(port, "443") {
			s.TLSConfig = &tls.Config{GetCertificate: o.ca.certificate}
			go s.ServeTLS(l, "", "")
			continue
		}
		s.Protocols = plain
		go s.Serve(l)
	}
	return nil
}

// noting keeps every request, with what was read of its body.
func (o *outside) noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := worldRequest{Proto: r.Proto, Method: r.Method, Host: r.Host, URI: r.RequestURI, Header: r.Header.Clone()}
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			n.At = at.String()
		}
		if r.TLS != nil {
			n.SNI = r.TLS.ServerName
		}
		o.mu.Lock()
		o.requests = append(o.requests, n)
		o.mu.Unlock()
		if r.Method == http.MethodConnect {
			tunnelTo(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

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

// requestsTo are those whose Host or SNI is a name, or that came to an address.
func (o *outside) requestsTo(host string) []worldRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := []worldRequest{}
	for _, r := range o.requests {
		name, _, _ := strings.Cut(r.Host, ":")
		at, _, _ := net.SplitHostPort(r.At)
		if name == host || r.SNI == host || at == host {
			found = append(found, r)
		}
	}
	return found
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
