package intercept

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"
)

// connect passes a CONNECT on to the proxy, and its answer back. If that is a
// yes, the connection is a tunnel from then on.
func (v *visit) connect(w http.ResponseWriter, r *http.Request) {
	conn, err := v.upstream.connect(r.Context())
	if err != nil {
		v.failed(w, r, err)
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(r.Context(), func() { _ = conn.Close() })
	defer stop()
	from, answer, err := v.askForTunnel(conn, r)
	switch {
	case err != nil:
		v.failed(w, r, err)
	case answer.StatusCode/100 == 2:
		stop() // in a tunnel, that the client has no more to say is not its end
		v.open(w, answer, conn, from)
	default:
		passOn(w, answer)
	}
}

// connect makes a connection that is not one of the transport's.
func (u *upstream) connect(ctx context.Context) (net.Conn, error) {
	conn, err := u.dial(ctx, "", "")
	if err != nil || !u.meta.TLS {
		return conn, err
	}
	ctx, cancel := context.WithTimeout(ctx, u.owner.limits.HeadTime)
	defer cancel()
	secure := tls.Client(conn, u.tlsConfig())
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// askForTunnel writes the request anew and reads the answer's head. What comes
// after it is read from the reader.
func (v *visit) askForTunnel(conn net.Conn, r *http.Request) (*bufio.Reader, *http.Response, error) {
	ask := &http.Request{Method: http.MethodConnect, Host: namedAuthority(v.Verdict.Target, ""), Header: tunnelHeader(r.Header)}
	ask.URL = &url.URL{Host: ask.Host}
	_ = conn.SetDeadline(time.Now().Add(v.owner.limits.IdleTime))
	defer conn.SetDeadline(time.Time{})
	if err := ask.Write(conn); err != nil {
		return nil, nil, io.EOF
	}
	bounded := &io.LimitedReader{R: conn, N: int64(v.owner.limits.HeaderBytes)}
	from := bufio.NewReader(bounded)
	answer, err := http.ReadResponse(from, ask)
	for err == nil && answer.StatusCode/100 == 1 && answer.StatusCode != http.StatusSwitchingProtocols {
		answer, err = http.ReadResponse(from, ask)
	}
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		err = unreadable("the proxy speaks another protocol from now on, which was not asked for")
	}
	bounded.N = math.MaxInt64
	return from, answer, err
}

// tunnelHeader is what a proxy is told beside where to.
func tunnelHeader(in http.Header) http.Header {
	out := http.Header{"User-Agent": nil} // nil: net/http adds none of its own
	for _, name := range []string{"User-Agent", "Proxy-Authorization"} {
		if said, has := in[name]; has {
			out[name] = said
		}
	}
	return out
}

// passOn hands a proxy's no to the client.
func passOn(w http.ResponseWriter, answer *http.Response) {
	defer answer.Body.Close()
	dropFraming(answer.Header)
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

// open tells the client that there is a tunnel, and serves it to its end.
func (v *visit) open(w http.ResponseWriter, answer *http.Response, conn net.Conn, from *bufio.Reader) {
	box, words, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	v.Status = answer.StatusCode
	t := &tunnel{visit: v, box: box, fromBox: words.Reader, proxy: conn, fromProxy: from}
	defer t.cut()
	dropFraming(answer.Header)
	_, _ = fmt.Fprintf(words, "HTTP/1.1 %d Connection established\r\n", answer.StatusCode)
	if errors.Join(answer.Header.Write(words), writeLine(words.Writer)) == nil {
		t.serve()
	}
}

func writeLine(w *bufio.Writer) error {
	_, _ = w.WriteString("\r\n")
	return w.Flush()
}

// dropFraming leaves out what is between us and the proxy alone.
func dropFraming(header http.Header) {
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Trailer", "Upgrade"} {
		header.Del(name)
	}
}
