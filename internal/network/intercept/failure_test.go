package intercept

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// expired is a certificate of a CA's whose time is over.
func expired(t *testing.T, ca *CA) *tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: serial(), DNSNames: []string{testHost}, NotBefore: time.Now().AddDate(-2, 0, 0), NotAfter: time.Now().AddDate(-1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	must(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A server that cannot prove its name gets nothing, and the box is told why.
func TestServersMustProveTheirName(t *testing.T) {
	ca, caPEM := madeCA(t, "server")
	other, err := ca.Leaf("other.example.com")
	must(t, err)
	stranger, _ := madeCA(t, "stranger")
	unknown, err := stranger.Leaf(testHost)
	must(t, err)
	for why, cert := range map[string]*tls.Certificate{
		"valid for other.example.com": other, "expired": expired(t, ca), "unknown authority": unknown,
	} {
		for _, h2 := range []bool{false, true} {
			w, reached := counted(t, setup{cert: cert, secrets: bound(testHost)})
			w.i.Roots = pool(caPEM)
			answer, body := w.get(h2, "/", "Authorization", placeholder)
			want(t, "status", answer.StatusCode, http.StatusBadGateway)
			want(t, "mark", answer.Header.Get(OwnAnswer), "failed")
			wantIn(t, body, "the certificate of api.example.com is not good", why)
			want(t, "requests that came through", reached.Load(), int32(0))
			w.clean(body)
		}
	}
}

func TestServersThatDoNotAnswer(t *testing.T) {
	talks := func(say string) func(context.Context) (net.Conn, error) {
		return func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = theirs.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(theirs, say)
				_ = theirs.Close()
			}()
			return ours, nil
		}
	}
	fails := func(err error) func(context.Context) (net.Conn, error) {
		return func(context.Context) (net.Conn, error) { return nil, err }
	}
	for _, c := range []struct {
		setup
		status int
		why    string
	}{
		{setup{dial: fails(errors.New("connection refused"))}, 502, "connection refused"},
		{setup{dial: fails(os.ErrDeadlineExceeded)}, 504, "timeout"},
		{setup{dial: talks("SSH-2.0-x\r\n")}, 502, "does not speak TLS"},
		{setup{plain: true, dial: talks("SSH-2.0-x\r\n")}, 502, "not HTTP"},
		{setup{plain: true, dial: talks("")}, 502, "without an answer"},
		{setup{plain: true, dial: talks("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n")}, 502, "more than is taken"},
		{setup{plain: true, dial: talks("HTTP/1.1 101 OK\r\nConnection: upgrade\r\n\r\nraw")}, 502, "not asked for"},
	} {
		w := newWorld(t, c.setup, nil)
		answer, body := w.get(false, "/", "Accept", "application/json")
		want(t, c.why, answer.StatusCode, c.status)
		wantIn(t, body, c.why, `"code":"unavailable"`)
		wantIn(t, w.records()[0].Failure, c.why)
		want(t, "refused", len(w.told()), 0)
	}
}

// An answer that breaks off does not look whole to the client.
func TestBrokenAnswersLookBroken(t *testing.T) {
	for _, secrets := range [][]Secret{nil, bound(testHost)} {
		for _, h2 := range []bool{false, true} {
			w := newWorld(t, setup{h1: true, secrets: secrets}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, "some of it")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			answer, err := w.client(h2).Get(w.url("/"))
			if err == nil {
				_, err = io.ReadAll(answer.Body)
				answer.Body.Close()
			}
			if err == nil {
				t.Error("the client thinks that it has all")
			}
		}
	}
}

// A client that goes away takes its request with it.
func TestAClientThatLeaves(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		arrived, left := make(chan struct{}), make(chan struct{})
		w := newWorld(t, setup{}, func(w http.ResponseWriter, r *http.Request) {
			close(arrived)
			<-r.Context().Done()
			close(left)
		})
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-arrived; cancel() }()
		r, err := http.NewRequestWithContext(ctx, "GET", w.url("/"), nil)
		must(t, err)
		if _, err := w.client(h2).Do(r); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		<-left
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	arrived := make(chan struct{})
	w := newWorld(t, setup{}, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	go func() { <-arrived; _ = w.i.Close() }()
	if answer, err := w.client(true).Get(w.url("/")); err == nil && answer.StatusCode == 200 {
		t.Error("there was an answer")
	}
}

// A server that cannot be reached is not waited for: nothing but Close ends the
// attempt where the client has more to send.
func TestCloseEndsConnectingToo(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		dialing := make(chan struct{})
		w := newWorld(t, setup{dial: func(ctx context.Context) (net.Conn, error) {
			close(dialing)
			<-ctx.Done()
			return nil, ctx.Err()
		}}, nil)
		body, end := io.Pipe()
		r, err := http.NewRequest("POST", w.url("/"), body)
		must(t, err)
		go func() { <-dialing; _ = w.i.Close(); _ = end.Close() }()
		if answer, err := w.client(h2).Do(r); err == nil && answer.StatusCode == 200 {
			t.Error("there was an answer")
		}
	}
}

func TestTooLongHeads(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		w, reached := counted(t, setup{limits: Limits{HeaderBytes: 8 << 10}})
		r, err := http.NewRequest("GET", w.url("/"), nil)
		must(t, err)
		r.Header.Set("X-Long", strings.Repeat("x", 64<<10))
		answer, err := w.client(h2).Do(r)
		if err == nil {
			want(t, "status", answer.StatusCode, http.StatusRequestHeaderFieldsTooLarge)
			answer.Body.Close()
		}
		want(t, "requests that came through", reached.Load(), int32(0))
	}
	w, _ := counted(t, setup{limits: Limits{HeaderBytes: 8 << 10}})
	conn := w.raw() // a line that never ends
	for err := error(nil); err == nil; {
		_, err = conn.Write([]byte(strings.Repeat("x", 4<<10)))
	}
}

// More requests than a box may have at once are answered at once, with a reason.
func TestTooManyRequests(t *testing.T) {
	arrived, leave := make(chan struct{}, 2), make(chan struct{})
	w := newWorld(t, setup{limits: Limits{Requests: 2}}, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-leave
	})
	client := w.client(true)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if answer, err := client.Get(w.url("/")); err != nil || answer.StatusCode != 200 {
				t.Errorf("got %v, %v", answer, err)
			}
		})
		<-arrived
	}
	answer, body := w.get(true, "/")
	want(t, "status", answer.StatusCode, http.StatusServiceUnavailable)
	wantIn(t, body, "too many requests")
	close(leave)
	both.Wait()
}

func TestSilentClientsAreNotWaitedForForever(t *testing.T) {
	for _, text := range []string{"", "GET / HTTP/1.1\r\nHo"} {
		for _, plain := range []bool{true, false} {
			w, _ := counted(t, setup{plain: plain, limits: Limits{HeadTime: time.Millisecond * 200}})
			w.say(text) // returns when the connection ends
		}
	}
	w, _ := counted(t, setup{limits: Limits{HeadTime: time.Millisecond * 200}})
	conn, err := net.Dial("tcp", w.listener.Addr().String())
	must(t, err)
	defer conn.Close()
	_, _ = io.ReadAll(conn) // no handshake at all
}
