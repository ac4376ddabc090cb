package gate

import (
	"slices"
	"strings"
	"time"

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

// lookup notes that a refused name was asked for. If nothing connects to it, it
// becomes a record of its own.
func (l *log) lookup(v forkbox.NetVerdict) {
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
	l.wind()
}

// reached says that somebody connected to a name: its lookup is explained.
func (l *log) reached(host string) {
	if host == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lookups, host)
}

// dueLookups are those that nothing came of, in their order; the caller holds the
// lock. Many names below one domain are one record: data that somebody tries to
// carry out in names comes as thousands of them.
func (l *log) dueLookups(all bool) []forkbox.Conn {
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
			conn := l.begin(found.verdict, forkbox.ConnRefused)
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
