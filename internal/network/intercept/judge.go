package intercept

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/forkbox/forkbox"
)

// objection is a refusal: what to answer, and what to put on record.
type objection struct {
	status  int
	verdict forkbox.NetVerdict
	close   bool // the connection is not used any longer
}

func (c *client) target() forkbox.NetTarget {
	return forkbox.NetTarget{Proto: "tcp", Host: c.Host, Addr: c.Addr.Addr(), Port: int(c.Addr.Port())}
}

// judge decides on a request. Everything that identifies where it goes must
// agree before the rules are asked.
func (i *Interceptor) judge(c *client, r *http.Request, s shape) (forkbox.NetVerdict, *objection) {
	t := c.target()
	t.Method, t.Path = r.Method, sentPath(r)
	if s.bad != "" {
		t.Method, t.Path = s.method, s.target
		return i.object(http.StatusBadRequest, t, "the request is not clear: "+s.bad)
	}
	if why := badTarget(r); why != "" {
		return i.object(http.StatusBadRequest, t, "the request is not clear: "+why)
	}
	if c.asksProxy(r) {
		return i.judgeProxied(c, r)
	}
	if r.Method == http.MethodConnect {
		return i.object(http.StatusMethodNotAllowed, t, "CONNECT would open a connection that the gate cannot look into")
	}
	host, why := c.hostOf(r)
	t.Host = host
	if why != "" {
		return i.object(http.StatusMisdirectedRequest, t, why)
	}
	v := i.Check(t)
	v.Target = t
	if v.Allowed {
		return v, nil
	}
	return v, &objection{status: http.StatusForbidden, verdict: v}
}

// object refuses for a reason that no rule can change. What follows on such a
// connection is not to be trusted either, if it was framed badly.
func (i *Interceptor) object(status int, t forkbox.NetTarget, why string) (forkbox.NetVerdict, *objection) {
	v := i.refusal(t, why)
	return v, &objection{status: status, verdict: v, close: status == http.StatusBadRequest}
}

func (i *Interceptor) refusal(t forkbox.NetTarget, why string) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Target: t, Why: why}
	if i.Remedy != nil {
		v.Remedy = i.Remedy(t)
	}
	return v
}

// hostOf is the name that a request is for, and why it must not be. On a
// connection to a name it is that name and port. On one to a raw address it is
// the address, or a name that the rules are asked about.
func (c *client) hostOf(r *http.Request) (name, why string) {
	if r.URL.Scheme != "" && !strings.EqualFold(r.URL.Scheme, c.scheme()) {
		return c.Host, fmt.Sprintf("its target is %.100q on a connection that speaks %s", r.URL.Scheme+":", c.scheme())
	}
	if extra := r.Header["Host"]; len(extra) > 0 && (len(extra) > 1 || !strings.EqualFold(extra[0], r.Host)) {
		return c.Host, "it names two hosts"
	}
	host, port, ok := splitAuthority(r.Host, c.scheme())
	switch {
	case !ok:
		return c.Host, fmt.Sprintf("its Host %.300q is no host", r.Host)
	case port != int(c.Addr.Port()):
		return host, fmt.Sprintf("its Host %.300q is for port %d on a connection to port %d", r.Host, port, c.Addr.Port())
	case c.Host == "" && isAddr(host, c.Addr.Addr()):
		return "", ""
	case c.Host != "" && host != c.Host:
		return host, fmt.Sprintf("its Host %.300q is not %s, which was connected to", r.Host, c.Host)
	}
	return host, ""
}

func isAddr(host string, addr netip.Addr) bool {
	parsed, err := netip.ParseAddr(host)
	return err == nil && parsed.Unmap() == addr.Unmap()
}

func (c *client) scheme() string {
	if c.TLS {
		return "https"
	}
	return "http"
}

// sentPath is the path as it will be written.
func sentPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.URL.RequestURI(), "?")
	return path
}

// badTarget refuses what is neither a path nor a URL. Such as "https:http://x/y"
// would be judged as one thing, and read by the server as another.
func badTarget(r *http.Request) string {
	path := strings.HasPrefix(r.RequestURI, "/")
	switch {
	case r.Method == http.MethodConnect, r.Method == http.MethodOptions && r.RequestURI == "*":
		return ""
	case r.URL.Opaque != "", r.URL.Path != "" && r.URL.Path[0] != '/', !path && r.URL.Host == "":
		return "its target is neither a path nor a URL"
	case !path && r.ProtoMajor != 1:
		return "its path is a URL"
	}
	return ""
}

func (c *client) refuse(v forkbox.NetVerdict) {
	if c.Refused != nil {
		c.Refused(plainVerdict(v))
	}
}

func (i *Interceptor) record(x Exchange) {
	if i.Record != nil {
		x.Verdict = plainVerdict(x.Verdict)
		i.Record(x)
	}
}
