//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// tell asks the outside world for something.
func (w *netWorld) tell(method, path string, say, into any) {
	w.Helper()
	body, err := json.Marshal(say)
	w.ok(err)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.outsideFile("control.sock"))
	}
	control := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(context.Background(), method, "http://outside"+path, bytes.NewReader(body))
	w.ok(err)
	answer, err := control.Do(r)
	w.ok(err)
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	w.ok(err)
	if answer.StatusCode != http.StatusOK {
		w.Fatalf("the outside world says to %s %s: %s %s", method, path, answer.Status, said)
	}
	if into != nil {
		w.ok(json.Unmarshal(said, into))
	}
}

// heard are the packets that came out of the host to an address, until now.
func (w *netWorld) heard(addr string) (packets []string) {
	w.Helper()
	fence := w.sendFence()
	q := url.Values{"addr": {netip.MustParseAddr(addr).Unmap().String()}, "fence": {fence}}
	w.tell("GET", "/heard?"+q.Encode(), nil, &packets)
	return packets
}

// sendFence sends a packet to an address of its own: when it is heard, so is
// all that was sent before.
func (w *netWorld) sendFence() string {
	w.Helper()
	raw := netip.MustParseAddr("2001:db8:c:f::").As16()
	_, _ = rand.Read(raw[8:])
	binary.BigEndian.PutUint16(raw[8:], 1) // so that it has one spelling
	to := netip.AddrFrom16(raw)
	c, err := w.dialHost(w.T, "udp", netip.AddrPortFrom(to, fencePort).String())
	w.ok(err)
	defer c.Close()
	_, err = c.Write([]byte("fence"))
	w.ok(err)
	return to.String()
}

// silent says that nothing at all was heard at addresses.
func (w *netWorld) silent(addrs ...string) {
	w.Helper()
	for _, addr := range addrs {
		if packets := w.heard(addr); len(packets) > 0 {
			w.Errorf("%s heard %s", addr, strings.Join(packets, ", "))
		}
	}
}

// asked are the questions for a name and what is below it that reached the
// world's name server.
func (w *netWorld) asked(name string) (all []worldQuestion) {
	w.Helper()
	w.tell("GET", "/asked?"+url.Values{"name": {name}}.Encode(), nil, &all)
	return all
}

// got are the requests that the world's web servers had for a host, or at an
// address.
func (w *netWorld) got(host string) (all []worldRequest) {
	w.Helper()
	w.tell("GET", "/requests?"+url.Values{"host": {host}}.Encode(), nil, &all)
	return all
}
