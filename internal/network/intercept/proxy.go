package intercept

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
)

// visit is one request while it is served.
type visit struct {
	*client
	Exchange
	shape shape
	scan  *patterns // what must not come back; nil: the host has no secrets
	last  bool      // the connection ends after the answer
	// proxied says that the server is asked to pass the request on, and challenge
	// is what it wants to hear first.
	proxied   bool
	challenge []string
	crowd     bool // there are so many requests that the gate has no answer of its own
}

// handle serves one request of any client.
func (i *Interceptor) handle(w http.ResponseWriter, r *http.Request) {
	c, known := r.Context().Value(clientKey{}).(*client)
	if !known || !c.begin() {
		panic(http.ErrAbortHandler)
	}
	defer c.finish()
	v := &visit{client: c, crowd: i.asking.Add(1) > 2*int64(i.limits.Requests)}
	defer i.asking.Add(-1)
	w = &answerWriter{ResponseWriter: w, visit: v}
	defer func() { i.record(v.Exchange) }()
	if c.heads != nil {
		v.shape = c.heads.next()
		v.last = v.shape.upgrade || v.shape.connect // heads does not look at what follows
	}
	i.serve(w, r, v)
}

func (i *Interceptor) serve(w http.ResponseWriter, r *http.Request, v *visit) {
	verdict, no := i.judge(v.client, r, v.shape)
	v.Verdict = verdict
	if no != nil {
		v.deny(w, r, no)
		return
	}
	select {
	case i.slots <- struct{}{}:
		defer func() { <-i.slots }()
	default:
		v.fail(w, r, http.StatusServiceUnavailable, "the box has too many requests under way")
		return
	}
	v.proxied = v.asksProxy(r)
	if r.Method == http.MethodConnect {
		v.connect(w, r)
		return
	}
	if no := i.prepare(r, v); no != nil {
		v.deny(w, r, no)
		return
	}
	// An answer can come before the end of the request: both are streams.
	_ = http.NewResponseController(w).EnableFullDuplex()
	i.proxy(v).ServeHTTP(w, r)
}

// prepare finds the secrets of the host, and puts in those that are asked for.
func (i *Interceptor) prepare(r *http.Request, v *visit) *objection {
	bound := i.boundTo(v.Verdict.Target.Host)
	if len(bound) == 0 {
		return nil
	}
	v.scan = newPatterns(bound)
	if !v.TLS || v.proxied {
		return nil // in clear, or to a server that nothing proves
	}
	if v.shape.upgrade && asksForSecret(r.Header, bound) {
		_, no := i.object(http.StatusForbidden, v.Verdict.Target, "a WebSocket cannot be looked into, so a secret could come back; it is not put in")
		return no
	}
	v.Secrets = inject(r.Header, bound)
	return nil
}

func (v *visit) deny(w http.ResponseWriter, r *http.Request, no *objection) {
	v.Verdict = plainVerdict(no.verdict)
	v.Verdict.Allowed = false
	v.refuse(v.Verdict)
	v.last = v.last || no.close
	v.answer(w, r, no.status, "refused", refusedPage(v.Verdict))
}

// answer sends a page. A box that does not take its answers has only so many of
// them wait for it.
func (v *visit) answer(w http.ResponseWriter, r *http.Request, status int, own string, p page) {
	if v.crowd {
		panic(http.ErrAbortHandler)
	}
	p.answer(w, r, status, own)
}

// fail answers for a server that did not.
func (v *visit) fail(w http.ResponseWriter, r *http.Request, status int, why string) {
	v.Failure = v.scan.clean(why)
	v.answer(w, r, status, "failed", failedPage(plainTarget(v.Verdict.Target), v.Failure))
}

// proxy passes one request on and its answer back.
func (i *Interceptor) proxy(v *visit) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        v.rewrite,
		Transport:      v,
		FlushInterval:  -1, // at once: agents read streams
		BufferPool:     buffers{},
		ErrorLog:       log.New(io.Discard, "", 0),
		ModifyResponse: v.examine,
		ErrorHandler:   v.answerFailure,
	}
}

// rewrite makes the request that goes out from the one that came in. Hop-by-hop
// headers are gone already; the rest is as the program meant it.
func (v *visit) rewrite(p *httputil.ProxyRequest) {
	in, out := p.In, p.Out
	out.URL.Scheme, out.URL.Host, out.URL.User = v.scheme(), authority(v.Host, v.Addr), nil
	out.URL.Opaque = "" // net/http would send it in place of the path
	out.Host = in.Host
	out.URL.RawQuery, out.URL.ForceQuery = in.URL.RawQuery, in.URL.ForceQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, had := in.Header[name]; had {
			out.Header[name] = values // the program's own: nothing is added
		}
	}
	if v.proxied {
		v.toProxy(in, out)
	}
	if !v.shape.upgrade {
		// h2c and the like would begin a conversation that no rule is asked about.
		out.Header.Del("Connection")
		out.Header.Del("Upgrade")
	}
	if needs := v.owner.NeedsRequests; needs != nil && needs(v.Verdict.Target.Host, v.Verdict.Target.Port) {
		dropOverrides(out.Header)
	}
	if v.scan != nil {
		readable(out.Header)
	}
	if len(in.Trailer) > 0 && out.Body != nil {
		out.Body = &trailing{out.Body, in, out}
	}
}

// dropOverrides leaves out what has some servers take a request for another one
// than was judged.
func dropOverrides(header http.Header) {
	for _, name := range []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url"} {
		header.Del(name)
	}
}

// readable asks for an answer that can be looked into, all of it: in parts, a
// value could come back in two halves.
func readable(header http.Header) {
	for _, name := range []string{"Range", "If-Range", "A-Im", "Grpc-Accept-Encoding", "Connect-Accept-Encoding"} {
		header.Del(name)
	}
	header.Set("Accept-Encoding", "identity")
}

// trailing hands on the trailers of a request, which are known at its end.
type trailing struct {
	io.ReadCloser
	in, out *http.Request
}

func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if err == io.EOF {
		for name := range t.out.Trailer {
			t.out.Trailer[name] = t.in.Trailer[name]
		}
	}
	return n, err
}

// unreadable is an answer that is not passed on.
type unreadable string

func (u unreadable) Error() string { return string(u) }

// examine has an answer scanned on its way back.
func (v *visit) examine(answer *http.Response) error {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		if !v.shape.upgrade {
			return unreadable("the server speaks another protocol from now on, which was not asked for")
		}
		v.Status = answer.StatusCode
	}
	if v.challenge != nil {
		answer.Header["Proxy-Authenticate"] = v.challenge
	}
	if v.scan == nil {
		return nil
	}
	if why := notToBeScanned(answer); why != "" {
		return unreadable(why)
	}
	answer.Status = "" // the server's words for it, which only an upgrade would pass on
	v.scan.cleanHeader(answer.Header)
	v.scan.cleanHeader(answer.Trailer) // so far only names
	if answer.StatusCode == http.StatusSwitchingProtocols || !hasBody(answer) {
		return nil
	}
	answer.Body = &scrubber{from: answer.Body, look: v.scan, ended: func() { v.scan.cleanHeader(answer.Trailer) }}
	// A placeholder is not as long as the value.
	answer.Header.Del("Content-Length")
	answer.ContentLength = -1
	return nil
}

func hasBody(answer *http.Response) bool {
	return answer.Request.Method != http.MethodHead && answer.Body != http.NoBody && answer.ContentLength != 0
}

func notToBeScanned(answer *http.Response) string {
	for _, name := range []string{"Content-Encoding", "Grpc-Encoding", "Connect-Content-Encoding", "Im"} {
		for coding := range strings.SplitSeq(strings.Join(answer.Header[name], ","), ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				return fmt.Sprintf("the answer is compressed (%s) although that was not asked for, and cannot be searched for secrets", name)
			}
		}
	}
	if answer.StatusCode == http.StatusPartialContent {
		return "the answer is a part although that was not asked for, and cannot be searched for secrets"
	}
	return ""
}

// buffers are reused between requests.
type buffers struct{}

var bufferPool = sync.Pool{New: func() any { return new([scrubBuffer]byte) }}

func (buffers) Get() []byte  { return bufferPool.Get().(*[scrubBuffer]byte)[:] }
func (buffers) Put(b []byte) { bufferPool.Put((*[scrubBuffer]byte)(b)) }
