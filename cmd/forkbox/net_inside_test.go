//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/websocket"
	"golang.org/x/sys/unix"
)

// netInsideArg makes the test binary a program that uses the network of the box
// it is run in: a Go binary, which knows nothing of proxies or of a libc's
// resolver. It says "ok …" and succeeds, or names the error and fails.
const netInsideArg = "net-inside"

// netInsideLife is when it gives up: by then nothing was refused, it was only
// not answered, which is for a test to find.
const netInsideLife = 20 * time.Second

var netInside = map[string]func(args []string) (string, error){
	"abstract":  insideAbstract,
	"ask":       insideAsk,
	"dial":      insideDial,
	"doh":       insideDoH,
	"dribble":   insideDribble,
	"flood":     insideFlood,
	"forged":    insideForged,
	"frame":     insideFrame,
	"front":     insideFront,
	"get":       insideGet,
	"half-open": insideHalfOpen,
	"hold":      insideHold,
	"lookup":    insideLookup,
	"mapped":    insideMapped,
	"rate":      insideRate,
	"raw":       insideRaw,
	"say":       insideSay,
	"serve-ws":  insideServeWebSocket,
	"source":    insideSource,
	"tick":      insideTick,
	"vsock":     insideVsock,
	"ws":        insideWebSocket,
}

func init() {
	if len(os.Args) < 3 || os.Args[1] != netInsideArg {
		return
	}
	do, ok := netInside[os.Args[2]]
	if !ok {
		fmt.Printf("there is no %q\n", os.Args[2])
		os.Exit(98)
	}
	said, err := do(os.Args[3:])
	if err != nil {
		fmt.Println(said, nameOfError(err))
		os.Exit(1)
	}
	fmt.Println("ok", said)
	os.Exit(0)
}

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), netInsideLife)
}

// insideDial connects: PROTO ADDRESS.
func insideDial(args []string) (string, error) {
	ctx, cancel := within()
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, args[0], args[1])
	if err != nil {
		return "", err
	}
	return c.RemoteAddr().String(), c.Close()
}

// insideSay sends a line and waits for one: PROTO ADDRESS TEXT.
func insideSay(args []string) (string, error) {
	ctx, cancel := within()
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, args[0], args[1])
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(netInsideLife))
	if _, err := io.WriteString(c, args[2]); err != nil {
		return "", err
	}
	buf := make([]byte, 64<<10)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

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
			time.Sleep(dribblePause)
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

func (h *hesitant) Write(p []byte) (int, error) {
	if h.begun {
		return h.Conn.Write(p)
	}
	h.begun = true
	if _, err := h.Conn.Write(p[:1]); err != nil {
		return 0, err
	}
	time.Sleep(dribblePause)
	n, err := h.Conn.Write(p[1:])
	return n + 1, err
}

// insideLookup is all addresses of NAME.
func insideLookup(args []string) (string, error) {
	ctx, cancel := within()
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, args[0])
	return strings.Join(found, " "), err
}

// insideAsk asks a name server: PROTO SERVER NAME TYPE.
func insideAsk(args []string) (string, error) {
	m := new(dns.Msg).SetQuestion(dns.Fqdn(args[2]), dns.StringToType[args[3]])
	c := dns.Client{Net: args[0], Timeout: netInsideLife}
	answer, _, err := c.Exchange(m, args[1])
	if err != nil {
		return "", err
	}
	said := dns.RcodeToString[answer.Rcode]
	for _, rr := range answer.Answer {
		said += "; " + strings.Join(strings.Fields(rr.String()), " ")
	}
	return said, nil
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

// insideHold opens connections, says how many there are, and keeps them until a
// line comes; then it says how many still echo: ADDRESS COUNT [for-ever].
func insideHold(args []string) (string, error) {
	conns, failed := openMany(args[0], countArg(args, 1, 1))
	fmt.Printf("open %d %v\n", len(conns), failed)
	if len(args) > 2 {
		time.Sleep(time.Minute)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	alive := 0
	for _, c := range conns {
		_ = c.SetDeadline(time.Now().Add(netInsideLife))
		_, err := io.WriteString(c, "\x01")
		if n, rerr := c.Read(make([]byte, 1)); err == nil && rerr == nil && n == 1 {
			alive++
		}
	}
	return fmt.Sprintf("alive %d", alive), nil
}

func openMany(address string, count int) (conns []net.Conn, failed error) {
	for range count {
		c, err := net.DialTimeout("tcp", address, netInsideLife)
		if err != nil {
			return conns, errors.New(nameOfError(err))
		}
		conns = append(conns, c)
	}
	return conns, nil
}

// insideMapped connects with a socket of IPv6 to an address of IPv4, as
// ::ffff:a.b.c.d: ADDRESS PORT.
func insideMapped(args []string) (string, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	to := &unix.SockaddrInet6{Port: countArg(args, 1, 80)}
	copy(to.Addr[:], net.ParseIP(args[0]).To16())
	return "connected", unix.Connect(fd, to)
}
