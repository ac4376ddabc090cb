package egress

import (
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	// lookupWait is how long a refused lookup waits for the connection that it
	// was made for: that is then the record, with the port.
	lookupWait  = 2 * time.Second
	lookupLimit = 1024
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

// dueLookups are those that nothing came of; the caller holds the lock. Names
// below one domain are one record: data that somebody tries to carry out in
// names comes as thousands of them.
func (l *log) dueLookups(all bool) []forkbox.Conn {
	domains := map[string]int{}
	var told []forkbox.Conn
	for name, found := range l.lookups {
		if !all && time.Since(found.since) < lookupWait {
			continue
		}
		delete(l.lookups, name)
		domain := domainOf(name)
		at, has := domains[domain]
		if !has {
			at = len(told)
			domains[domain] = at
			told = append(told, l.begin(found.verdict, forkbox.ConnRefused))
			told[at].Time, told[at].Times = found.since, 0
		}
		told[at].Times += found.times
	}
	return told
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
