package intercept

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

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
	// Paths are the box's own words: nobody is to take them for HTML.
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
