package intercept

import "net/http"

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
