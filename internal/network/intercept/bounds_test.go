package intercept

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// mostHeld is what one box may have the gate hold of bodies that are not read.
const mostHeld = 128 << 20

// A box that does not read its answers, or whose server does not read what it
// sends, does not have the gate hold more than a little of each.
func TestWhatIsNotReadIsNotTaken(t *testing.T) {
	limits := Limits{}.filled()
	ca, caPEM := madeCA(t, "server")
	leaf, err := ca.Leaf(testHost)
	must(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{*leaf}, NextProtos: []string{"h2"}})
	must(t, err)
	defer listener.Close()
	w := newWorld(t, setup{dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	}}, plainPage)
	w.i.Roots = pool(caPEM)

	box := w.raw2(0)
	up, whole := box.windows()
	if held := int(min(up, whole)) * 2 * limits.Requests; held > mostHeld/2 {
		t.Errorf("of uploads the gate takes %d bytes", held)
	}
	box.ask("GET", "/")
	conn, err := listener.Accept()
	must(t, err)
	defer conn.Close()
	_, err = io.ReadFull(conn, make([]byte, len(preface)))
	must(t, err)
	down, whole := newFrames(w, conn).windows()
	if held := int(down) * limits.Requests; held > mostHeld/2 {
		t.Errorf("of answers the gate takes %d bytes", held)
	}
	if int(whole) < int(down)*limits.Streams {
		t.Errorf("%d streams that are not read stop the others: each takes %d of %d bytes", limits.Streams, down, whole)
	}
}

// A box that asks and does not take the answers has no more of them under way
// than it may have requests, twice; but each that is refused is on record.
func TestAnswersThatNobodyTakes(t *testing.T) {
	w, _ := counted(t, setup{limits: Limits{Requests: 2}, check: func(target forkbox.NetTarget) forkbox.NetVerdict {
		return forkbox.NetVerdict{Target: target, Why: "no rule allows it"}
	}})
	f := w.raw2(0)
	for range 4 {
		want(t, "status", f.status(f.ask("GET", "/")), http.StatusForbidden)
	}
	want(t, "status of one too many", f.status(f.ask("GET", "/")), 0)
	want(t, "refused requests", len(w.told()), 5)
}

// Records are short and can be printed, whatever a box says.
func TestRecordsAreShortAndPlain(t *testing.T) {
	long := strings.Repeat("a", 50000)
	w, reached := counted(t, onlyRepos)
	for _, head := range []string{
		"GET / HTTP/1.1\r\nHost: \x1b]0;pwned\x07" + long, "GET / HTTP/1.1\r\nHost: " + long, "GET / HTTP/1.1\r\nHost: a\x80:1",
		"GET /" + long + " HTTP/1.1\r\nHost: HOST", long + " / HTTP/1.1\r\nHost: HOST", "GET /\x1b[2J HTTP/1.1\r\nHost: HOST",
		"GET /\x1b[2J" + long + " HTTP/1.1\r\nHost: a\r\nHost: b", "GET x:" + long + " HTTP/1.1\r\nHost: HOST",
	} {
		w.say(head + "\r\nConnection: close\r\n\r\n")
	}
	want(t, "requests that came through", reached.Load(), int32(0))
	told := w.told()
	for _, x := range w.records() {
		told = append(told, x.Verdict)
	}
	if len(told) < 10 {
		t.Errorf("there are %d records", len(told))
	}
	for _, v := range told {
		for _, text := range []struct {
			text string
			most int
		}{{v.Target.Host, 255}, {v.Target.Method, 32}, {v.Target.Path, 512}, {v.Why, 1024}, {v.Remedy, 1024}} {
			if len(text.text) > text.most || strings.ContainsFunc(text.text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
				t.Errorf("on record is %.100q of %d bytes", text.text, len(text.text))
			}
		}
	}
}
