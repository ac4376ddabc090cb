package gate

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
)

const (
	// lookupWait is how long a refused lookup waits for the connection that it
	// was made for: that is then the record, with the port.
	lookupWait  = 2 * time.Second
	lookupLimit = 1024
	// lookupFold is how many names below one domain have a record each.
	lookupFold = 16
)

// lookup is a refused name that was asked for.
type lookup struct {
	verdict forkbox.NetVerdict
	since   time.Time
	times   int
}

// noteLookup notes that a refused name was asked for. If nothing connects to it, it
// becomes a record of its own.
func (l *log) noteLookup(v forkbox.NetVerdict) {
	l.decided(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	key := v.Target.Host
	if l.lookups[key] == nil && len(l.lookups) >= lookupLimit {
		key = "" // one more of too many
	}
	if l.lookups[key] == nil {
		l.lookups[key] = &lookup{verdict: v, since: time.Now()}
	}
	l.lookups[key].times++
	l.startTimer()
}

// forgetLookup drops the lookup of a name that the box then connected to: the
// connection's record says more.
func (l *log) forgetLookup(host string) {
	if host == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lookups, host)
}

// takeDueLookups takes out the lookups that no connection followed, oldest
// first; the caller holds the lock. Many names below one domain are one record:
// data that a program tries to carry out in names comes as thousands of them.
func (l *log) takeDueLookups(all bool) []forkbox.Conn {
	domains := map[string][]*lookup{}
	for name, found := range l.lookups {
		if all || time.Since(found.since) >= lookupWait {
			delete(l.lookups, name)
			domains[domainOf(name)] = append(domains[domainOf(name)], found)
		}
	}
	var told []forkbox.Conn
	for _, names := range domains {
		for _, found := range foldLookups(names) {
			conn := l.newRecord(found.verdict, forkbox.ConnRefused)
			conn.Time, conn.Times = found.since, found.times
			told = append(told, conn)
		}
	}
	slices.SortFunc(told, func(a, b forkbox.Conn) int { return a.Time.Compare(b.Time) })
	return told
}

// foldLookups makes one of the lookups below a domain if they are many, under the
// name that was the first.
func foldLookups(names []*lookup) []*lookup {
	if len(names) <= lookupFold {
		return names
	}
	first := slices.MinFunc(names, func(a, b *lookup) int { return a.since.Compare(b.since) })
	times := 0
	for _, found := range names {
		times += found.times
	}
	first.times = times
	return []*lookup{first}
}

// domainOf is what names are told together by: without the first of three or
// more labels.
func domainOf(name string) string {
	if strings.Count(name, ".") < 2 {
		return name
	}
	_, parent, _ := strings.Cut(name, ".")
	return parent
}

// tidy is a verdict fit to be kept and read: a box says what it likes for a
// name, of any length and with any bytes.
func tidy(v forkbox.NetVerdict) forkbox.NetVerdict {
	t := &v.Target
	if t.Host != "" && !validName(t.Host) {
		t.Host = quoted(t.Host, 255)
		v.Remedy = "" // it would have the owner type that name
	}
	t.Method, t.Path = fit(t.Method, 32), fit(t.Path, 512)
	v.Why, v.Remedy = fit(v.Why, 1024), fit(v.Remedy, 1024)
	return v
}

// fit is a text of no more than some bytes, all of which can be printed.
func fit(text string, most int) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) >= 0 {
		return quoted(text, most)
	}
	return cut(text, most)
}

func quoted(text string, most int) string { return cut(strconv.Quote(cut(text, most)), most) }

// cut is at most the first bytes of a text, of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most-len("…")]
	for len(text) > 0 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text + "…"
}
