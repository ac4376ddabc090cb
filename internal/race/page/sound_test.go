package page_test

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// sound finds what no page may have, whatever the race did: markup that is not
// ours, something that loads or runs, something that cannot be seen, and what
// keeps a screen reader from reading it.
func sound(t testing.TB, page []byte) dom {
	t.Helper()
	onlyVisible(t, page)
	d := parse(t, page)
	onlyOurMarkup(d)
	lockedDown(d)
	reachable(d)
	headed(d)
	return d
}

func onlyVisible(t testing.TB, page []byte) {
	t.Helper()
	if !utf8.Valid(page) {
		t.Error("the page is not UTF-8")
	}
	for _, r := range string(page) {
		if !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) && r != '\n' && r != '\t' {
			t.Fatalf("the page has the character %U", r)
		}
	}
}

const (
	ourElements = " html head meta title style body header h1 h2 h3 h4 bdi p dl div dt dd ul ol li main section table caption thead tbody tr th td" +
		" a span small br code figure svg line text g rect path figcaption article blockquote details summary pre footer script "
	ourAttributes = " lang charset http-equiv content name id class role aria-labelledby aria-hidden tabindex scope href open data-number data-key" +
		" viewBox width height x y x1 x2 y1 y2 dy d text-anchor "
)

func onlyOurMarkup(d dom) {
	d.Helper()
	for _, e := range d.all("*") {
		if !strings.Contains(ourElements, " "+e.Data+" ") {
			d.Fatalf("the page has the element %q", e.Data)
		}
		for _, a := range e.Node.Attr {
			if !strings.Contains(ourAttributes, " "+a.Key+" ") {
				d.Fatalf("the page has the attribute %q", a.Key)
			}
			if a.Key == "href" && !strings.HasPrefix(a.Val, "#approach-") {
				d.Fatalf("the page has a link to %q", a.Val)
			}
		}
	}
}

// lockedDown says that the browser is told to accept the one style and the one
// script that are there, and nothing else.
func lockedDown(d dom) {
	d.Helper()
	policy := ""
	for _, m := range d.all("meta") {
		if m.attr("http-equiv") == "Content-Security-Policy" {
			policy = m.attr("content")
		}
	}
	want := "default-src 'none'; style-src " + hashed(d.one("style")) + "; script-src " + hashed(d.one("script")) +
		"; base-uri 'none'; form-action 'none'"
	if policy != want {
		d.Errorf("the policy is\n%s\nand must be\n%s", policy, want)
	}
}

func hashed(e dom) string {
	sum := sha256.Sum256([]byte(e.text()))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// reachable says that each id is there once, and whatever is pointed at is
// there.
func reachable(d dom) {
	d.Helper()
	ids := map[string]bool{}
	for _, e := range d.all("*") {
		id := e.attr("id")
		if id != "" && ids[id] {
			d.Fatalf("the id %q is there twice", id)
		}
		ids[id] = true
	}
	for _, e := range d.all("*") {
		for _, to := range []string{e.attr("aria-labelledby"), strings.TrimPrefix(e.attr("href"), "#")} {
			if to != "" && !ids[to] {
				d.Fatalf("nothing has the id %q", to)
			}
		}
	}
}

// headed says that headings do not skip a level, that tables have captions and
// cells have heads.
func headed(d dom) {
	d.Helper()
	last := 0
	for _, e := range d.all("*") {
		level := slices.Index([]string{"h1", "h2", "h3", "h4"}, e.Data) + 1
		if level > last+1 {
			d.Fatalf("a heading of level %d follows one of level %d: %q", level, last, e.text())
		}
		if level > 0 {
			last = level
		}
		if e.Data == "th" && e.attr("scope") == "" {
			d.Errorf("the head %q has no scope", e.text())
		}
	}
	for _, table := range d.all("table") {
		table.one("caption")
	}
}
