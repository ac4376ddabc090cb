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
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// connect passes a CONNECT on to the proxy, and its answer back. If that is a
// yes, the connection is a tunnel from then on.
func (v *visit) connect(w http.ResponseWriter, r *http.Request) {
	conn, err := v.upstream.connect(r.Context())
	if err != nil {
		v.answerFailure(w, r, err)
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(r.Context(), func() { _ = conn.Close() })
	defer stop()
	from, answer, err := v.askForTunnel(conn, r)
	switch {
	case err != nil:
		v.answerFailure(w, r, err)
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

// The server of a connection may be a proxy: then requests name the host that
// they are for, "CONNECT host:443" or "GET http://host/". That is judged as if
// the box connected to it, except that the gate does not know the address that
// the proxy will find for it.

// asksProxy says whether a request is for the server to pass on. HTTP/2 has
// another form of it, which is not spoken here.
func (c *client) asksProxy(r *http.Request) bool {
	if c.heads == nil || c.owner.Connect == nil {
		return false
	}
	if r.Method == http.MethodConnect {
		return true
	}
	host, port, ok := splitAuthority(r.Host, r.URL.Scheme)
	return ok && r.URL.Host != "" && c.Host != "" &&
		(host != c.Host || port != int(c.Addr.Port()) || r.URL.Scheme != c.scheme())
}

// judgeProxied decides on a request that the server is to pass on.
func (i *Interceptor) judgeProxied(c *client, r *http.Request) (forkbox.NetVerdict, *objection) {
	t, why := namedTarget(r)
	if why != "" {
		return i.object(http.StatusBadRequest, t, "the request is not clear: "+why)
	}
	v := i.mayPass(c, t)
	if v.Allowed && r.Method != http.MethodConnect {
		v = i.Check(t)
		v.Target = t
	}
	if v.Allowed {
		return v, nil
	}
	return v, &objection{status: http.StatusForbidden, verdict: v}
}

// mayPass says whether the host that a request names may be reached. A tunnel
// to it must not lead back to the proxy, where a second one could be asked for
// that the gate does not see; and it hides what the gate would have to look at.
func (i *Interceptor) mayPass(c *client, t forkbox.NetTarget) forkbox.NetVerdict {
	v := i.Connect(forkbox.NetTarget{Proto: t.Proto, Host: t.Host, Addr: t.Addr, Port: t.Port})
	v.Target = t
	switch {
	case !v.Allowed || t.Method != http.MethodConnect:
		return v
	case t.Port == int(c.Addr.Port()) && (t.Host == c.Host || t.Addr == c.Addr.Addr().Unmap()):
		return i.refusal(t, "a proxy is not asked for a connection to itself")
	case i.Terminates != nil && i.Terminates(t.Host, t.Port):
		return i.refusal(t, "the gate looks at the requests to this host, and could not see them through a proxy")
	}
	return v
}

// namedTarget is what a request to a proxy names.
func namedTarget(r *http.Request) (t forkbox.NetTarget, why string) {
	t = forkbox.NetTarget{Proto: "tcp", Method: r.Method}
	named, scheme := r.Host, r.URL.Scheme
	if r.Method == http.MethodConnect {
		named = r.RequestURI
		if _, _, err := net.SplitHostPort(named); err != nil {
			return t, "CONNECT names no host and port"
		}
	} else if t.Path = sentPath(r); scheme != "http" && scheme != "https" {
		return t, "its target is neither http nor https"
	}
	host, port, ok := splitAuthority(named, scheme)
	if !ok {
		return t, "it names no host"
	}
	t.Host, t.Port = host, port
	if addr, err := netip.ParseAddr(host); err == nil {
		t.Host, t.Addr = "", addr.Unmap()
	}
	return t, ""
}

// namedAuthority is how a target is written to the proxy: as it was judged.
func namedAuthority(t forkbox.NetTarget, scheme string) string {
	host := t.Host
	if host == "" {
		host = t.Addr.String()
	}
	if scheme == "" || t.Port != defaultPort(scheme == "https") {
		return net.JoinHostPort(host, strconv.Itoa(t.Port))
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// toProxy makes of a request what a proxy is told. Its user's name and password
// are for the proxy, and go no further than there.
func (v *visit) toProxy(in, out *http.Request) {
	out.Host = namedAuthority(v.Verdict.Target, in.URL.Scheme)
	out.URL.Opaque = in.URL.Scheme + "://" + out.Host + v.Verdict.Target.Path
	if said, has := in.Header["Proxy-Authorization"]; has {
		out.Header["Proxy-Authorization"] = said
	}
}

// RoundTrip sends the visit's request. What a proxy says about its password would
// be lost, as what is between us and the server.
func (v *visit) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := v.upstream.RoundTrip(r)
	if err == nil && v.proxied {
		v.challenge = answer.Header["Proxy-Authenticate"]
	}
	return answer, err
}
