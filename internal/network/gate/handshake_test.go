//go:build linux

package gate

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/tlshello"
)

const (
	cipherRecord = "\x14\x03\x03\x00\x01\x01"
	alertRecord  = "\x15\x03\x03\x00\x02\x01\x5a"
	dataRecord   = "\x17\x03\x03\x00\x05.data"
	finished12   = "\x16\x03\x03\x00\x28\x00\x00\x00\x00\x00\x00\x00\x00.encrypted......................"
	keys12       = "\x16\x03\x03\x00\x07\x10\x00\x00\x03\x02ab"
)

// likeHello is an encrypted message that begins as a ClientHello does: one in 256
// does, with most ciphers.
const likeHello = "\x16\x03\x03\x00\x20\x01\xa5\x20\x77.encrypted.................."

// withEarlyData adds an extension to the end of a hello.
func withEarlyData(hello []byte) []byte {
	out := append(bytes.Clone(hello), 0, tlshello.ExtEarlyData, 0, 0)
	for _, at := range []int{3, 7, extensionsAt(out)} {
		n := (int(out[at])<<8 | int(out[at+1])) + 4
		out[at], out[at+1] = byte(n>>8), byte(n)
	}
	return out
}

// extensionsAt is where a hello has the length of all its extensions: behind
// session, suites and compression.
func extensionsAt(hello []byte) int {
	p := 9 + 34
	p += 1 + int(hello[p])
	p += 2 + (int(hello[p])<<8 | int(hello[p+1]))
	return p + 1 + int(hello[p])
}

// follow gives bytes to a handshake in pieces of some size.
func follow(h *handshake, data []byte, size int) error {
	for piece := range slices.Chunk(data, size) {
		if err := h.look(piece); err != nil {
			return err
		}
	}
	return nil
}

func TestHandshakeIsFollowed(t *testing.T) {
	good := hello(t, &tls.Config{ServerName: "good.example"})
	evil := hello(t, &tls.Config{ServerName: "evil.example"})
	none := hello(t, &tls.Config{})
	early := withEarlyData(good)
	oneRecord := split(join(nil, good, evil[5:]), 16384)
	parted := split(evil, 100)
	for what, c := range map[string]struct {
		data []byte
		err  error
		over bool
	}{
		"the first only":               {join(nil, good), nil, false},
		"the same again":               {join(good, good), nil, false},
		"the same behind a cipher":     {join(good, cipherRecord, good), nil, false},
		"the same in parts":            {join(good, split(good, 1)), nil, false},
		"the same, then data":          {join(good, cipherRecord, good, dataRecord), nil, true},
		"1.3":                          {join(good, cipherRecord, dataRecord, evil), nil, true},
		"1.2":                          {join(good, keys12, cipherRecord, finished12, evil), nil, true},
		"1.2 resumed":                  {join(good, cipherRecord, finished12), nil, true},
		"1.2 not finished":             {join(good, keys12, cipherRecord), nil, false},
		"1.2 like a hello":             {join(good, keys12, cipherRecord, likeHello), nil, false},
		"1.2 like a hello, then data":  {join(good, keys12, cipherRecord, likeHello, dataRecord), nil, true},
		"another":                      {join(good, evil), errOther, false},
		"another in parts":             {join(good, parted), errOther, false},
		"another, byte by byte":        {join(good, split(evil, 1)), errOther, false},
		"another in the same record":   {oneRecord, errOther, false},
		"another behind a cipher":      {join(good, cipherRecord, evil), errOther, false},
		"another behind two":           {join(good, cipherRecord, cipherRecord, split(evil, 1)), errOther, false},
		"another around a cipher":      {join(good, parted[:105], cipherRecord, parted[105:]), errOther, false},
		"another around an alert":      {join(good, parted[:105], alertRecord, parted[105:]), errOther, false},
		"another behind keys":          {join(good, keys12, evil), errOther, false},
		"another behind an empty one":  {join(good, cipherRecord, "\x16\x03\x03\x00\x00", evil), errOther, false},
		"another, the third":           {join(good, good, evil), errOther, false},
		"none":                         {join(good, none), errOther, false},
		"another behind early data":    {join(early, cipherRecord, dataRecord, dataRecord, evil), errOther, false},
		"the same behind early data":   {join(early, cipherRecord, dataRecord, good), nil, false},
		"the same, then data, another": {join(early, dataRecord, good, dataRecord, evil), nil, true},
		"much early data":              {join(early, bytes.Repeat([]byte(dataRecord), peekMost)), nil, false},
		"a malformed one":              {join(good, "\x16\x03\x03\x00\x05\x01\x00\x00\x01a"), tlshello.ErrHello, false},
		"no record":                    {join(good, "\x80\x2e\x01\x03\x01"), tlshello.ErrRecord, false},
		"alerts without end":           {join(good, bytes.Repeat([]byte(alertRecord), peekMost/7+1)), errLong, false},
		"a message without end":        {join(good, split(join(nil, ".....\x01\x02\x00\x00", make([]byte, peekMost)), 16384)), errLong, false},
	} {
		for _, size := range []int{1, 2, 5, 7, 100, 1 << 20} {
			h := &handshake{name: "good.example"}
			if err := follow(h, c.data, size); !errors.Is(err, c.err) || h.over != c.over {
				t.Errorf("%s, in pieces of %d: %v, over is %v", what, size, err, h.over)
			}
		}
	}
}

// join puts together bytes and texts.
func join(parts ...any) []byte {
	var out []byte
	for _, part := range parts {
		switch part := part.(type) {
		case []byte:
			out = append(out, part...)
		case string:
			out = append(out, part...)
		}
	}
	return out
}

// FuzzHandshake: how a stream is cut makes no difference.
func FuzzHandshake(f *testing.F) {
	good := hello(f, &tls.Config{ServerName: "good.example"})
	for _, rest := range []string{cipherRecord, cipherRecord + finished12, keys12, dataRecord, likeHello, "\x16\x03"} {
		f.Add([]byte(rest), 3)
	}
	f.Add(good, 11)
	f.Fuzz(func(t *testing.T, rest []byte, size int) {
		stream := join(good, rest)
		once, cut := &handshake{name: "good.example"}, &handshake{name: "good.example"}
		err, errCut := once.look(stream), follow(cut, stream, max(size, 1))
		if !errors.Is(errCut, err) || once.over != cut.over || once.said != cut.said {
			t.Errorf("at once %v, %+v; in pieces of %d %v, %+v", err, once, size, errCut, cut)
		}
	})
}

// say sends pieces to an echo, each once the one before has come back, and gives
// how many bytes came back.
func say(conn net.Conn, pieces ...[]byte) (n int, err error) {
	for _, piece := range pieces {
		if _, err = conn.Write(piece); err != nil {
			return n, err
		}
		back := make([]byte, len(piece))
		m, err := io.ReadFull(conn, back)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestSecondHelloMustNameTheSameHost: the pieces are echoed one by one, so none
// of them is held back.
func TestSecondHelloMustNameTheSameHost(t *testing.T) {
	good := hello(t, &tls.Config{ServerName: "good.example"})
	evil := hello(t, &tls.Config{ServerName: "evil.example"})
	odd := slices.Collect(slices.Chunk(evil, 37))
	for what, c := range map[string]struct {
		pieces [][]byte
		passes bool
	}{
		"the same":                {[][]byte{good, good}, true},
		"the same, at once":       {[][]byte{join(good, cipherRecord, good)}, true},
		"the same in pieces":      {slices.Concat([][]byte{good}, slices.Collect(slices.Chunk(good, 37))), true},
		"the same, then anything": {[][]byte{good, good, []byte(dataRecord), evil, []byte("anything")}, true},
		"TLS 1.2":                 {[][]byte{good, []byte(keys12), []byte(cipherRecord), []byte(finished12), []byte(dataRecord), evil}, true},
		"another":                 {[][]byte{good, evil}, false},
		"another, at once":        {[][]byte{join(good, evil)}, false},
		"another behind a cipher": {[][]byte{good, []byte(cipherRecord), evil}, false},
		"another in pieces":       {slices.Concat([][]byte{good}, odd), false},
		"another in records":      {[][]byte{good, split(evil, 9)}, false},
	} {
		f := open(t, "deny evil.example\nallow good.example:443")
		f.name("good.example", "60 A 203.0.113.1")
		f.tcp("203.0.113.1:443", echo)
		conn, err := f.dialName("good.example", 443)
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Concat(c.pieces...)
		n, err := say(conn, c.pieces...)
		if passed := err == nil && n == len(all); passed != c.passes {
			t.Errorf("%s: %d of %d bytes came back: %v", what, n, len(all), err)
		}
		conn.Close()
		if c.passes {
			f.wantRecord(what, func(c forkbox.Conn) bool { return c.State == forkbox.ConnClosed && c.Target.Host == "good.example" })
			continue
		}
		r := f.wantRecord(what, func(c forkbox.Conn) bool { return c.State == forkbox.ConnRefused && c.Lasted > 0 })
		if r.Target.Host != "evil.example" || r.Target.Port != 443 || !strings.Contains(r.Why, "good.example") || r.Out >= int64(len(all)) {
			t.Errorf("%s: the record is %+v", what, r)
		}
	}
}

// TestSecondHelloToAnAllowedAddress: the address is allowed whatever it is for,
// except for a name that is denied.
func TestSecondHelloToAnAllowedAddress(t *testing.T) {
	f := open(t, "deny evil.example\nallow 203.0.113.0/24:443")
	f.tcp("203.0.113.1:443", echo)
	for _, first := range []string{"", "good.example"} {
		conn, err := f.box.dial("tcp", "203.0.113.1:443")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		said := hello(t, &tls.Config{ServerName: first})
		if _, err := say(conn, said, said); err != nil {
			t.Errorf("%q again: %v", first, err)
		}
		if n, err := say(conn, hello(t, &tls.Config{ServerName: "evil.example"})); err == nil {
			t.Errorf("%q, then evil.example: %d bytes came back", first, n)
		}
	}
	f.wantRecord("the second name", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "evil.example"
	})
}

// TestBoxThatReadsNothingIsTurnedAway: what the server sends cannot be got rid
// of, and that must not keep the connection from ending.
func TestBoxThatReadsNothingIsTurnedAway(t *testing.T) {
	f := open(t, "allow good.example:443")
	f.name("good.example", "60 A 203.0.113.1")
	full := make(chan bool)
	f.tcp("203.0.113.1:443", func(conn net.Conn) {
		for err := error(nil); err == nil; { // until nothing is taken any more
			conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, err = conn.Write(make([]byte, 1<<20))
		}
		close(full)
		io.Copy(io.Discard, conn)
	})
	conn, err := f.dialName("good.example", 443)
	if err != nil {
		t.Fatal(err)
	}
	conn.Write(hello(t, &tls.Config{ServerName: "good.example"}))
	<-full
	conn.Write(hello(t, &tls.Config{ServerName: "evil.example"}))
	f.wantRecord("the refusal", func(c forkbox.Conn) bool { return c.State == forkbox.ConnRefused && c.Lasted > 0 })
}

// changedSecond is a connection whose second ClientHello names another host.
type changedSecond struct {
	net.Conn
	hellos int
}

func (c *changedSecond) Write(p []byte) (int, error) {
	if p[0] == tlshello.RecordHandshake {
		c.hellos++
	}
	if c.hellos < 2 {
		return c.Conn.Write(p)
	}
	return c.Conn.Write(bytes.Replace(p, []byte("good.example"), []byte("evil.example"), 1))
}

// tlsServer says how much it got, over TLS as it is told to speak it. It returns
// its certificate.
func (w *world) tlsServer(address string, cfg *tls.Config) []tls.Certificate {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(to, "hello, "+itoa(len(body))+" bytes")
	}))
	server.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	server.TLS = cfg
	server.StartTLS()
	w.t.Cleanup(server.Close)
	w.at("tcp", address, server.Listener.Addr().String())
	return server.TLS.Certificates
}

// request makes a handshake and sends more than is ever looked at.
func request(t *testing.T, conn net.Conn, cfg *tls.Config) tls.ConnectionState {
	t.Helper()
	client := tls.Client(conn, cfg)
	defer client.Close()
	body := 3 * peekMost
	io.WriteString(client, "POST / HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\nContent-Length: "+itoa(body)+"\r\n\r\n")
	client.Write(make([]byte, body))
	answer, err := io.ReadAll(client)
	if err != nil || !strings.Contains(string(answer), "hello, "+itoa(body)+" bytes") {
		t.Errorf("got %q, %v", answer, err)
	}
	return client.ConnectionState()
}

func TestRealHandshakesPass(t *testing.T) {
	f := open(t, "allow good.example")
	f.name("good.example", "60 A 203.0.113.1")
	certificate := f.tlsServer("203.0.113.1:443", &tls.Config{})
	f.tlsServer("203.0.113.1:444", &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}})
	f.tlsServer("203.0.113.1:445", &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	for what, c := range map[string]struct {
		port  int
		cfg   *tls.Config
		retry bool
	}{
		"1.2":                  {443, &tls.Config{MaxVersion: tls.VersionTLS12}, false},
		"1.3":                  {443, &tls.Config{MinVersion: tls.VersionTLS13}, false},
		"1.2, another curve":   {444, &tls.Config{MaxVersion: tls.VersionTLS12}, false},
		"1.3, asked again":     {444, &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}}, true},
		"1.2 with certificate": {445, &tls.Config{MaxVersion: tls.VersionTLS12, Certificates: certificate}, false},
		"1.3 with certificate": {445, &tls.Config{Certificates: certificate}, false},
	} {
		t.Run(what, func(t *testing.T) {
			c.cfg.ServerName, c.cfg.InsecureSkipVerify = "good.example", true
			c.cfg.ClientSessionCache = tls.NewLRUClientSessionCache(4)
			for _, resumed := range []bool{false, true} {
				conn, err := f.dialName("good.example", c.port)
				if err != nil {
					t.Fatal(err)
				}
				if state := request(t, conn, c.cfg); state.HelloRetryRequest != c.retry || state.DidResume != resumed {
					t.Errorf("asked again: %v, resumed: %v", state.HelloRetryRequest, state.DidResume)
				}
			}
		})
	}
}

func TestRealSecondHelloWithAnotherNameIsTurnedAway(t *testing.T) {
	f := open(t, "allow good.example")
	f.name("good.example", "60 A 203.0.113.1")
	f.tlsServer("203.0.113.1:443", &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}})
	conn, err := f.dialName("good.example", 443)
	if err != nil {
		t.Fatal(err)
	}
	changed := &changedSecond{Conn: conn}
	client := tls.Client(changed, &tls.Config{ServerName: "good.example", InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}})
	if client.Handshake() == nil || changed.hellos != 2 {
		t.Errorf("the handshake succeeded, or ended before the second of %d hellos", changed.hellos)
	}
	f.wantRecord("the second name", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "evil.example" && c.Out > 0
	})
}
