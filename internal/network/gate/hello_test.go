//go:build linux

package gate

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// hello is the first flight of a real client.
func hello(t testing.TB, cfg *tls.Config) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	cfg.InsecureSkipVerify = true
	go func() {
		tls.Client(ours, cfg).Handshake()
		ours.Close()
	}()
	head := make([]byte, 5)
	theirs.Read(head)
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	for n := 0; n < len(body); {
		m, err := theirs.Read(body[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += m
	}
	return append(head, body...)
}

// split puts a message into records of some size.
func split(hello []byte, size int) []byte {
	var out []byte
	for body := hello[5:]; len(body) > 0; {
		n := min(size, len(body))
		out = append(out, tlshello.RecordHandshake, 3, 1, byte(n>>8), byte(n))
		out, body = append(out, body[:n]...), body[n:]
	}
	return out
}

func TestServerNameIsFound(t *testing.T) {
	long := strings.Repeat("a", 60) + ".example"
	for _, cfg := range []*tls.Config{
		{ServerName: "good.example"},
		{ServerName: "good.example", MaxVersion: tls.VersionTLS12},
		{ServerName: "good.example", NextProtos: []string{"h2", "http/1.1"}},
		{ServerName: long},
		{},
	} {
		whole := hello(t, cfg)
		for _, size := range []int{1, 7, 100, 16384} {
			in := split(whole, size)
			for cut := range in {
				if name, err := helloName(in[:cut]); !errors.Is(err, tlshello.ErrMore) {
					t.Fatalf("of %d bytes %d say %q, %v", len(in), cut, name, err)
				}
			}
			for _, rest := range []string{"", "\x17\x03\x03 and more", "\x14\x03\x03\x00\x01\x01"} {
				if name, err := helloName(append(bytes.Clone(in), rest...)); err != nil || name != cfg.ServerName {
					t.Errorf("got %q, %v, want %q", name, err, cfg.ServerName)
				}
			}
		}
	}
}

func TestTwoServerNamesAreRefused(t *testing.T) {
	whole := hello(t, &tls.Config{ServerName: "good.example"})
	at := bytes.Index(whole, []byte("\x00\x00\x00\x11\x00\x0f\x00\x00\x0cgood.example"))
	if at < 0 {
		t.Fatal("there is no such extension")
	}
	extension := bytes.Clone(whole[at : at+21])
	doubled := append(append(bytes.Clone(whole[:at+21]), extension...), whole[at+21:]...)
	grow := func(at, by int) {
		binary.BigEndian.PutUint16(doubled[at:], binary.BigEndian.Uint16(doubled[at:])+uint16(by))
	}
	grow(3, 21) // the record
	grow(7, 21) // the message: the low bytes of its length
	// The length of all extensions lies behind session, suites and compression.
	p := 9 + 34
	p += 1 + int(doubled[p])
	p += 2 + int(binary.BigEndian.Uint16(doubled[p:]))
	p += 1 + int(doubled[p])
	grow(p, 21)
	if name, err := helloName(doubled); !errors.Is(err, tlshello.ErrNames) {
		t.Errorf("got %q, %v", name, err)
	}
}

func TestFirstWords(t *testing.T) {
	for head, want := range map[string]kind{
		"":                                 undecided,
		"\r\n":                             undecided,
		"GET":                              undecided,
		"GET / HTTP/1.1\r\nHost: a\r\n":    undecided,
		"SSH-2.0-x":                        undecided,
		"SSH-2.0-x\r\n":                    plain,
		"003agit-upload-pack /r\x00host=":  doubtful,
		"003agit-x /r\x00host=\x000032w\n": plain,
		"<stream:stream to='a'>":           doubtful,
		"{\"a\": 1}":                       doubtful,
		"{\"a\": 1}\n":                     plain,
		"\x15\x03\x01\x00":                 undecided,
		"\x15\x03\x01\x00\x02":             odd,
		"\x14\x03\x01\x00\x01":             odd,
		"\x15\x00\x00\x00\x20":             plain,
		"\x80\x2e":                         doubtful,
		"\x80\x2e\x02":                     plain,
		"*1\r\n$4\r\nPING\r\n":             plain,
		"AMQP\x00\x00\x09\x01":             plain,
		"\x00\x00\x00\x08\x04\xd2\x16\x2f": plain,
		"GET key\r\n":                      plain,
		"OPTIONS rtsp://a RTSP/1.0\r\n":    plain,
		"\x16\x03":                         undecided,
		"\x16\x02":                         undecided,
		"\x16\x00\x00\x00\x00":             odd,
		"\x16\x03\x01\x00\x00":             odd,
		"\x80\x2e\x01\x03\x01":             odd,
		"GET / HTTP/1.1\r\n\r\n":           httpRequest,
		"GET /a b HTTP/1.1\r\n\r\n":        odd,
	} {
		if got := classify([]byte(head)); got.kind != want {
			t.Errorf("%q is %+v, not %v", head, got, want)
		}
	}
}

func FuzzClientHello(f *testing.F) {
	f.Add(hello(f, &tls.Config{ServerName: "good.example"}))
	f.Add(split(hello(f, &tls.Config{ServerName: "good.example"}), 50))
	f.Add([]byte("\x16\x03\x01\x00\x01\x01"))
	f.Fuzz(func(t *testing.T, head []byte) {
		name, err := helloName(head)
		if err == nil && strings.ToLower(name) != name {
			t.Errorf("the name is %q", name)
		}
		if err != nil && name != "" {
			t.Errorf("%v, but the name is %q", err, name)
		}
		if err == nil { // more of the stream does not change what was said
			if again, err := helloName(append(bytes.Clone(head), "more"...)); err != nil || again != name {
				t.Errorf("with more, %q becomes %q, %v", name, again, err)
			}
		}
	})
}

// FuzzFirstWords holds a decision against what comes later: what the gate takes
// for one thing must not become another with more bytes.
func FuzzFirstWords(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"), 7)
	f.Add([]byte("SSH-2.0-x\r\n"), 3)
	f.Add([]byte("\x80\x2e\x01\x03\x01"), 1)
	f.Add([]byte("\x15\x03\x01\x00\x02\x01\x5a"), 2)
	f.Add([]byte("0000git-x / HTTP/1.1\r\n\r\n"), 10)
	f.Add([]byte("\r\n\r\nGET / HTTP/1.0\n\n"), 4)
	f.Fuzz(func(t *testing.T, head []byte, cut int) {
		if cut < 0 || cut > len(head) {
			return
		}
		early, late := classify(head[:cut]), classify(head)
		if !early.open() && early.kind != odd && (late.kind != odd || early.kind == plain) && early.kind != late.kind {
			t.Errorf("%q is %v, and %q is %v", head[:cut], early, head, late)
		}
		if early.kind == httpRequest && early != late {
			t.Errorf("%q is %v, and %q is %v", head[:cut], early, head, late)
		}
	})
}

func FuzzQuestion(f *testing.F) {
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04good\x07example\x00\x00\x01\x00\x01"))
	w := openWire(f, "allow good.example")
	w.name("good.example", "60 A 203.0.113.1")
	f.Fuzz(func(t *testing.T, raw []byte) {
		w.gate.names.answerBytes(raw, true)
		w.gate.names.answerBytes(raw, false)
	})
}

// changedFirst is a connection whose first write is changed.
type changedFirst struct {
	net.Conn
	change func(hello []byte) []byte
}

func (c *changedFirst) Write(p []byte) (int, error) {
	if c.change == nil {
		return c.Conn.Write(p)
	}
	changed := c.change(append([]byte(nil), p...))
	c.change = nil
	if _, err := c.Conn.Write(changed); err != nil {
		return 0, err
	}
	return len(p), nil
}

// oddRecords are ways to put a ClientHello that some servers take.
var oddRecords = map[string]func(hello []byte) []byte{
	"version 4.1": func(hello []byte) []byte { hello[1] = 4; return hello },
	"version 0.1": func(hello []byte) []byte { hello[1] = 0; return hello },
	"an alert":    func(hello []byte) []byte { return append([]byte{0x15, 3, 1, 0, 2, 1, 90}, hello...) },
	"many alerts": func(hello []byte) []byte {
		return append([]byte("\x15\x03\x01\x00\x02\x01\x70\x15\x03\x01\x00\x02\x01\x5a"), hello...)
	},
	"cipher first": func(hello []byte) []byte { return append([]byte{0x14, 3, 1, 0, 1, 1}, hello...) },
}

// TestServerNameIsCheckedInOddRecords: Go's own servers take some of these, so a
// handshake that succeeds has got through.
func TestServerNameIsCheckedInOddRecords(t *testing.T) {
	for _, rules := range []string{
		"deny evil.example\nallow good.example:443",
		"allow good.example:443", // evil.example is merely not allowed
	} {
		f := open(t, rules)
		f.name("good.example", "60 A 203.0.113.1")
		f.https("203.0.113.1:443")
		for what, change := range oddRecords {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				conn, err := f.dialName("good.example", 443)
				if err != nil {
					t.Fatal(err)
				}
				client := tls.Client(&changedFirst{conn, change}, &tls.Config{ServerName: "evil.example", InsecureSkipVerify: true, MaxVersion: version})
				if client.Handshake() == nil {
					t.Errorf("%s, TLS %x: the server was reached as evil.example", what, version)
				}
				conn.Close()
			}
		}
		if in := f.gate.Stats().Out; in != 0 {
			t.Errorf("%d bytes went out", in)
		}
	}
}
