//go:build linux

package gate

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// helloFor is a ClientHello for a name that no client would say.
func helloFor(name string) []byte {
	sized := func(b []byte) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) }
	list := sized(append([]byte{0}, sized([]byte(name))...))
	extensions := sized(append([]byte{0, 0}, sized(list)...))
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(append(body, 0, 0, 2, 0x13, 1, 1, 0), extensions...)
	message := append([]byte{tlshello.ClientHello, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
	return split(append(make([]byte, 5), message...), 16000)
}

// TestRecordsAreReadableAndSmall, whatever a box says for a name.
func TestRecordsAreReadableAndSmall(t *testing.T) {
	f := open(t, "deny *.evil.example\nallow good.example\nallow 203.0.113.2")
	f.name("good.example", "60 A 203.0.113.1")
	bad := "\x1b]0;pwned\x07\n'; rm -rf ~; '\xff" + strings.Repeat("A", 50_000)
	for _, address := range []string{"203.0.113.1", "203.0.113.2"} {
		f.https(address + ":443")
		f.tcp(address+":80", echo)
	}
	f.resolve("good.example")
	for _, name := range []string{bad, bad + ".evil.example", "'; rm -rf ~; '.evil.example"} {
		for _, address := range []string{"203.0.113.1", "203.0.113.2"} {
			for to, said := range map[string]string{
				address + ":443": string(helloFor(name)),
				address + ":80":  "GET / HTTP/1.1\r\nHost: " + strings.ReplaceAll(name, "\n", "") + "\r\n\r\n",
			} {
				conn, err := f.box.dial("tcp", to)
				if err != nil {
					t.Fatal(err)
				}
				io.WriteString(conn, said)
				conn.(interface{ CloseWrite() error }).CloseWrite()
				io.Copy(io.Discard, conn)
				conn.Close()
			}
		}
	}
	f.gate.Close()
	refused := 0
	for _, c := range f.records() {
		if c.State == forkbox.ConnRefused {
			refused++
		}
		wantTidy(t, c.NetVerdict)
	}
	if refused < 6 {
		t.Errorf("only %d were refused: %+v", refused, f.records())
	}
}

func wantTidy(t *testing.T, v forkbox.NetVerdict) {
	t.Helper()
	for what, c := range map[string]struct {
		text string
		most int
	}{
		"host": {v.Target.Host, 255}, "method": {v.Target.Method, 32}, "path": {v.Target.Path, 512},
		"why": {v.Why, 1024}, "remedy": {v.Remedy, 1024},
	} {
		if len(c.text) > c.most || !utf8.ValidString(c.text) || strings.ContainsAny(c.text, "\x1b\x07\n\u202e") {
			t.Errorf("the %s has %d bytes: %.200q", what, len(c.text), c.text)
		}
	}
	if strings.Contains(v.Remedy, "rm -rf") {
		t.Errorf("it is suggested to type %q", v.Remedy)
	}
}

func TestRefusedRequestsAreFoldedSmall(t *testing.T) {
	var recorded []forkbox.Conn
	l := newLog(&Config{NextID: func() int64 { return 1 }, Record: func(c forkbox.Conn) { recorded = append(recorded, c) }})
	long := strings.Repeat("é\x1b\u202e", 20_000)
	for _, ending := range []string{"a", "b"} {
		l.refuse(forkbox.NetVerdict{
			Target: forkbox.NetTarget{Proto: "tcp", Host: "good.example", Method: long, Path: "/" + long + ending},
			Why:    "no " + long, Remedy: "forkbox net allow BOX '" + long + "'",
		}, nil)
	}
	for key := range l.folds {
		if n := len(key.host) + len(key.why) + len(key.method) + len(key.path); n > 2048 {
			t.Errorf("a key has %d bytes", n)
		}
	}
	l.close()
	if len(recorded) == 0 {
		t.Fatal("nothing is on record")
	}
	for _, c := range recorded {
		wantTidy(t, c.NetVerdict)
	}
	ordinary := forkbox.NetVerdict{Target: forkbox.NetTarget{Host: "a-b.example", Method: "GET", Path: "/ü/x?y"}, Why: "no rule allows it", Remedy: "forkbox net allow BOX 'a-b.example'"}
	if got := tidy(ordinary); got != ordinary {
		t.Errorf("%+v becomes %+v", ordinary, got)
	}
}
