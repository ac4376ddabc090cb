package intercept

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// The server of a connection may be a proxy: then requests name the host that
// they are for, "CONNECT host:443" or "GET http://host/". That is judged as if
// the box connected to it, except that nobody knows the address that the proxy
// will find for it.

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

// mayPass says whether the host that a request names may be reached. A tunnel to
// it must not lead back to the proxy, where a second one could be asked for that
// nobody sees; and it hides what the gate would have to look at.
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
