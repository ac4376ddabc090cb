//go:build linux

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

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
