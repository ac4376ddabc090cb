package listen

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"127.0.0.1:7171":         {Host: "127.0.0.1", Port: 7171},
		"https://0.0.0.0:7171":   {Host: "0.0.0.0", Port: 7171},
		":7171":                  {Port: 7171},
		"https://[::1]:7171/":    {Host: "::1", Port: 7171},
		"http://127.0.0.1:0":     {Host: "127.0.0.1", Plain: true},
		"http://[::1]:7171":      {Host: "::1", Port: 7171, Plain: true},
		"http://localhost:7171":  {Host: "127.0.0.1", Port: 7171, Plain: true},
		"http://127.9.9.9:7171":  {Host: "127.9.9.9", Port: 7171, Plain: true},
		"https://192.0.2.1:7171": {Host: "192.0.2.1", Port: 7171},
	} {
		if got, err := ParseAddress(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "7171", "127.0.0.1", "build:7171", "http://0.0.0.0:7171", "http://:7171", "http://192.0.2.1:7171", "http://[::]:7171",
		"ftp://127.0.0.1:1", "127.0.0.1:70000", "127.0.0.1:x", "127.0.0.1:-1", "https://http://127.0.0.1:1", "https://127.0.0.1:1/v1", "[fe80::1%eth0]:1"} {
		if got, err := ParseAddress(text); forkbox.CodeOf(err) != forkbox.Invalid || err == nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// 0.0.0.0 is all addresses of IPv4 and none of IPv6.
func TestFourIsNotSix(t *testing.T) {
	l, err := Address{Host: "0.0.0.0"}.Open(&Limit{All: 1, Each: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if at := l.Addr().(*net.TCPAddr); at.IP.To4() == nil || !strings.HasPrefix(l.URL, "https://127.0.0.1:") {
		t.Errorf("it listens at %v and says %s", at, l.URL)
	}
}

// FuzzParseAddress: plain HTTP is never taken for what is not loopback.
func FuzzParseAddress(f *testing.F) {
	f.Add("http://127.0.0.1:1")
	f.Add("http://[::ffff:192.0.2.1]:1")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err == nil && a.Plain && !net.ParseIP(a.Host).IsLoopback() {
			t.Errorf("%q: %+v", text, a)
		}
	})
}

func TestTheCertificateIsRenewedWithTheSameKey(t *testing.T) {
	dir := t.TempDir()
	first, err := OwnCertificate(dir, []string{"localhost", "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"listener.key", "listener.crt"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	same, err := OwnCertificate(dir, []string{"localhost", "127.0.0.1"})
	if err != nil || same.leaf.SerialNumber.Cmp(first.leaf.SerialNumber) != 0 {
		t.Errorf("a new one was made: %v", err)
	}
	named, err := OwnCertificate(dir, []string{"localhost", "build.example.com"})
	if err != nil || named.leaf.VerifyHostname("build.example.com") != nil {
		t.Errorf("the new name is not in it: %v", err)
	}
	if named.Fingerprint() != first.Fingerprint() {
		t.Error("the fingerprint changed with the names")
	}
	old := *named.leaf
	old.NotAfter = time.Now().Add(renewAhead - time.Hour)
	serial := named.leaf.SerialNumber
	named.leaf, named.look = &old, time.Time{}
	if now := named.current().Leaf; now.SerialNumber.Cmp(serial) == 0 || time.Until(now.NotAfter) < renewAhead {
		t.Error("it was not renewed")
	}
	if named.Fingerprint() != first.Fingerprint() {
		t.Error("the fingerprint changed with the renewal")
	}
	if err := os.WriteFile(filepath.Join(dir, "listener.key"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OwnCertificate(dir, nil); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("a broken key: %v", err)
	}
}

// TestAWrongPinIsNoticed: what a client pins is the key that TLS proves.
func TestAWrongPinIsNoticed(t *testing.T) {
	cert, err := OwnCertificate(t.TempDir(), []string{"localhost", "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := OwnCertificate(t.TempDir(), []string{"localhost", "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Address{Host: "127.0.0.1"}.Open(&Limit{All: 10, Each: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	secure := tls.NewListener(l, cert.TLS(nil))
	go func() {
		for {
			conn, err := secure.Accept()
			if err != nil {
				return
			}
			go func() { conn.(*tls.Conn).Handshake(); conn.Close() }()
		}
	}()
	dial := func(pin string, most uint16) error {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{
			InsecureSkipVerify: true, MaxVersion: most,
			VerifyConnection: func(state tls.ConnectionState) error {
				if Fingerprint(state.PeerCertificates[0]) != pin {
					return x509.UnknownAuthorityError{}
				}
				return nil
			}})
		if err == nil {
			conn.Close()
		}
		return err
	}
	if err := dial(cert.Fingerprint(), 0); err != nil {
		t.Errorf("its own pin: %v", err)
	}
	if dial(other.Fingerprint(), 0) == nil {
		t.Error("another's pin is taken")
	}
	if dial(cert.Fingerprint(), tls.VersionTLS11) == nil {
		t.Error("TLS 1.1 is taken")
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	limit := &Limit{All: 2, Each: 1}
	l, err := Address{Host: "127.0.0.1", Plain: true}.Open(limit)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	var held []net.Conn
	for range 2 { // loopback may have more than one
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		held = append(held, <-accepted)
	}
	over, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	over.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := over.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("it is not hung up on: %v", err)
	}
	held[0].Close()
	held[0].Close() // counts once
	again, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	(<-accepted).Close()
	held[1].Close()
	if limit.n != 0 || len(limit.from) != 0 {
		t.Errorf("%d are counted, %v", limit.n, limit.from)
	}
}

func TestAKeyThatEverybodyReadsIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := OwnCertificate(dir, []string{"localhost"}); err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(dir, "listener.crt"), filepath.Join(dir, "listener.key")
	given, err := GivenCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := GivenCertificate(cert, key); forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("%v", err)
	}
	if _, err := GivenCertificate(filepath.Join(dir, "none"), key); err == nil {
		t.Error("a certificate that is not there")
	}
	if given.Names()[0] != "localhost" {
		t.Error(given.Names())
	}
}
