package intercept

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
)

// page is what the gate itself answers, for people and for programs. Code is as
// in a [forkbox.Error].
type page struct {
	Code   forkbox.Code       `json:"code"`
	Op     string             `json:"op"`
	Why    string             `json:"why"`
	Rule   string             `json:"rule,omitempty"`
	From   string             `json:"from,omitempty"`
	Remedy string             `json:"remedy,omitempty"`
	Target *forkbox.NetTarget `json:"target,omitempty"`
}

// OwnAnswer is a header of the answers that come from the gate and not from the
// server: "refused" or "failed".
const OwnAnswer = "X-Forkbox"

func refusedPage(v forkbox.NetVerdict) page {
	return page{Code: forkbox.Denied, Op: operation(v.Target), Why: v.Why, Rule: v.Rule.Rule, From: v.Rule.From, Remedy: v.Remedy, Target: &v.Target}
}

func failedPage(t forkbox.NetTarget, why string) page {
	return page{Code: forkbox.Unavailable, Op: operation(t), Why: why, Target: &t}
}

// operation says what could not be done: "GET https://host/path" without the
// query, which may be long and private.
func operation(t forkbox.NetTarget) string {
	host := t.Host
	if host == "" {
		host = t.Addr.String()
	}
	return strings.TrimSpace(fmt.Sprintf("%.32s %s:%d%.300s", t.Method, host, t.Port, t.Path))
}

func (p page) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "forkbox: cannot %s: %s\n", p.Op, p.Why)
	if p.Rule != "" {
		fmt.Fprintf(&b, "rule: %s (%s)\n", p.Rule, p.From)
	}
	if p.Remedy != "" {
		fmt.Fprintf(&b, "remedy: %s\n", p.Remedy)
	}
	return b.String()
}

// answer sends a page: text, or JSON to who asks for that.
func (p page) answer(w http.ResponseWriter, r *http.Request, status int, own string) {
	body, kind := []byte(p.text()), "text/plain; charset=utf-8"
	if wantsJSON(r.Header.Get("Accept")) {
		body, _ = json.Marshal(p)
		body, kind = append(body, '\n'), "application/json"
	}
	header := w.Header()
	clear(header)
	header.Set("Content-Type", kind)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	// Paths are the box's own words: no browser is to take them for HTML.
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set(OwnAnswer, own)
	w.WriteHeader(status)
	_, _ = w.Write(body)
	// Until the client takes it this is a request under way, and counted.
	_ = http.NewResponseController(w).Flush()
}

func wantsJSON(accept string) bool {
	for kind := range strings.SplitSeq(strings.ToLower(accept), ",") {
		kind, _, _ = strings.Cut(kind, ";")
		kind = strings.TrimSpace(kind)
		if kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json") {
			return true
		}
		if kind == "text/plain" || kind == "text/html" {
			return false
		}
	}
	return false
}

// answerFailure answers in place of a server that did not.
func (v *visit) answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	status, why := v.explain(err)
	v.fail(w, r, status, why)
}

// explain puts an error of the way out into words. It does not quote errors of
// reading an answer: those quote the answer, which may have a secret in it.
func (v *visit) explain(err error) (status int, why string) {
	var (
		refused     unreadable
		dialing     dialError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		timeout     net.Error
	)
	host := v.Host // that was connected to: of a proxied request it is the proxy
	switch {
	case errors.As(err, &refused):
		return http.StatusBadGateway, string(refused)
	case errors.As(err, &dialing):
		return dialStatus(err), fmt.Sprintf("cannot connect to %s: %v", v.Addr, dialing.error)
	case errors.As(err, &certificate):
		return http.StatusBadGateway, fmt.Sprintf("the certificate of %s is not good: %v", host, certificate.Err)
	case errors.As(err, &record):
		return http.StatusBadGateway, fmt.Sprintf("%s does not speak TLS at port %d", host, v.Addr.Port())
	case errors.As(err, &alert):
		return http.StatusBadGateway, fmt.Sprintf("%s refuses TLS: %v", host, alert)
	case errors.Is(err, context.Canceled):
		return http.StatusBadGateway, "the client has gone"
	case errors.As(err, &timeout) && timeout.Timeout():
		return http.StatusGatewayTimeout, "the server took too long"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadGateway, "the server closed the connection without an answer"
	}
	return http.StatusBadGateway, "the server's answer is not HTTP, or is more than is taken"
}

func dialStatus(err error) int {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// What a record has at most of each. A box says as much as it likes, and records
// are kept for a long time.
const (
	mostHost   = 255
	mostMethod = 32
	mostPath   = 512
	mostWhy    = 1024
	mostRemedy = 1024
)

// plainVerdict is one that can be kept and printed: short, and without control
// characters. A remedy that was cut would be another one, so it is left out.
func plainVerdict(v forkbox.NetVerdict) forkbox.NetVerdict {
	v.Target = plainTarget(v.Target)
	v.Why = plainText(v.Why, mostWhy)
	if plainText(v.Remedy, mostRemedy) != v.Remedy {
		v.Remedy = ""
	}
	return v
}

func plainTarget(t forkbox.NetTarget) forkbox.NetTarget {
	t.Host, t.Method, t.Path = plainText(t.Host, mostHost), plainText(t.Method, mostMethod), plainText(t.Path, mostPath)
	return t
}

// plainText escapes what cannot be printed, and cuts what is too long.
func plainText(text string, most int) string {
	const more = "…"
	cut := text[:min(len(text), most+1)]
	if !utf8.ValidString(cut) || strings.ContainsFunc(cut, func(r rune) bool { return !strconv.IsPrint(r) }) {
		quoted := strconv.QuoteToASCII(cut)
		cut = quoted[1 : len(quoted)-1]
	}
	if len(cut) <= most {
		return cut
	}
	return strings.ToValidUTF8(cut[:most-len(more)], "") + more
}
