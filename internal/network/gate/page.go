package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// servePage tells a browser, or an agent, why it is refused, where it speaks
// HTTP without TLS.
func servePage(conn *boxConn, v forkbox.NetVerdict) {
	conn.SetDeadline(time.Now().Add(peekTime)) // also for the first byte
	said, err := conn.readHead(peekTime, classify)
	if err != nil || said.kind != httpRequest && said.kind != odd {
		conn.abort()
		return
	}
	writePage(conn, v)
}

// writePage answers a request with the reason and the remedy.
func writePage(conn *boxConn, v forkbox.NetVerdict) {
	conn.SetDeadline(time.Now().Add(peekTime))
	body := pageText(v)
	fmt.Fprintf(conn, "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n%s", len(body), body)
	conn.CloseWrite()
	conn.SetDeadline(time.Now().Add(glanceTime))
	discard(conn)
	conn.Close()
}

// discard reads what is left of the request: a connection that is closed with
// something unread is reset, and the page may be lost with it.
func discard(conn *boxConn) {
	conn.head = nil
	buf := make([]byte, 4<<10)
	for range 256 {
		if _, err := conn.Read(buf); err != nil {
			return
		}
	}
}

func pageText(v forkbox.NetVerdict) string {
	t := v.Target
	target := t.Host
	if target == "" {
		target = t.Addr.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "forkbox: this box may not reach %s port %d\n", strings.Trim(quote(target), `"`), t.Port)
	fmt.Fprintf(&b, "why: %s\n", v.Why)
	if v.Rule.Rule != "" {
		fmt.Fprintf(&b, "rule: %s (%s)\n", v.Rule.Rule, v.Rule.From)
	}
	if v.Remedy != "" {
		fmt.Fprintf(&b, "remedy: %s\n", v.Remedy)
	}
	return b.String()
}
