//go:build linux

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/websocket"
)

// insideGet asks for a URL with headers: URL [Name:value]….
func insideGet(args []string) (string, error) {
	ctx, cancel := within()
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], nil)
	if err != nil {
		return "", err
	}
	for _, h := range args[1:] {
		name, value, _ := strings.Cut(h, ":")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, " ", answer.Proto, " ", answer.Header, " ", string(body), " ", answer.Trailer), err
}

// insideFront speaks TLS to ADDRESS as SNI, and asks for a page of HOST.
func insideFront(args []string) (string, error) {
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: netInsideLife}, Config: &tls.Config{ServerName: args[1], InsecureSkipVerify: true}}
	c, err := dialer.Dial("tcp", args[0])
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(netInsideLife))
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", args[2])
	page, err := io.ReadAll(c)
	return string(page), err
}

// insideDribble says things with pauses between them that no gate wants to wait
// for, or begins TLS so: ADDRESS TEXT…, or ADDRESS tls SNI.
func insideDribble(args []string) (string, error) {
	c, err := net.DialTimeout("tcp", args[0], netInsideLife)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(netInsideLife))
	if args[1] == "tls" {
		client := tls.Client(&hesitant{Conn: c}, &tls.Config{ServerName: args[2], InsecureSkipVerify: true})
		if err := client.Handshake(); err != nil {
			return "", err
		}
		return "shaken hands", nil
	}
	for i, text := range args[1:] {
		if i > 0 {
			time.Sleep(dribblePause) // so that it comes in pieces
		}
		if _, err := io.WriteString(c, text); err != nil {
			return "", err
		}
	}
	page, err := io.ReadAll(c)
	return string(page), err
}

const dribblePause = 4 * time.Second

// hesitant sends one byte, and the rest much later.
type hesitant struct {
	net.Conn
	begun bool
}

// insideDoH asks over HTTPS: URL NAME.
func insideDoH(args []string) (string, error) {
	raw, err := new(dns.Msg).SetQuestion(dns.Fqdn(args[1]), dns.TypeA).Pack()
	if err != nil {
		return "", err
	}
	trusting := &http.Client{Timeout: netInsideLife, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := trusting.Post(args[0], "application/dns-message", strings.NewReader(string(raw)))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.Status, errors.New("refused")
	}
	return answer.Status, nil
}

// insideWebSocket sends a line and waits for one: URL TEXT.
func insideWebSocket(args []string) (string, error) {
	c, err := websocket.Dial(args[0], "", "http://localhost/")
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(netInsideLife))
	if err := websocket.Message.Send(c, args[1]); err != nil {
		return "", err
	}
	var got string
	err = websocket.Message.Receive(c, &got)
	return got, err
}

// insideServeWebSocket echoes on ADDRESS.
func insideServeWebSocket(args []string) (string, error) {
	echo := websocket.Server{Handler: func(c *websocket.Conn) { _, _ = io.Copy(c, c) }}
	return "", http.ListenAndServe(args[0], echo)
}

func (h *hesitant) Write(p []byte) (int, error) {
	if h.begun {
		return h.Conn.Write(p)
	}
	h.begun = true
	if _, err := h.Conn.Write(p[:1]); err != nil {
		return 0, err
	}
	time.Sleep(dribblePause) // so that it comes in pieces
	n, err := h.Conn.Write(p[1:])
	return n + 1, err
}
