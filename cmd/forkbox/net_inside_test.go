//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
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
	"begin":     insideBegin,
	"devices":   insideDevices,
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

// insideHold opens connections, says how many there are, and keeps them until a
// line comes; then it says how many still echo: ADDRESS COUNT [for-ever].
func insideHold(args []string) (string, error) {
	conns, failed := openMany(args[0], countArg(args, 1, 1))
	fmt.Printf("open %d %v\n", len(conns), failed)
	if len(args) > 2 {
		time.Sleep(time.Minute) // it ends with its box
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
