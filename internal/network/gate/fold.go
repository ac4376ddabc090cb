package gate

import (
	"net/netip"
	"time"

	"github.com/forkbox/forkbox"
)

// socket is where an attempt comes from.
type socket struct {
	proto         string
	local, remote netip.AddrPort
}

// refuse records a refused attempt. The process is asked for before it returns,
// so that the caller can refuse afterwards: the process may end right then.
func (l *log) refuse(v forkbox.NetVerdict, from *socket) { l.fold(v, forkbox.ConnRefused, from) }

// fail records an attempt that was allowed and led nowhere.
func (l *log) fail(v forkbox.NetVerdict, from *socket) { l.fold(v, forkbox.ConnFailed, from) }

func (l *log) fold(v forkbox.NetVerdict, state forkbox.ConnState, from *socket) {
	l.reached(v.Target.Host)
	if l.repeats(v) {
		return
	}
	var who forkbox.Who
	if from != nil {
		who = l.ask(*from)
	}
	if conn, fresh := l.first(v, state, who); fresh {
		l.cfg.Record(conn)
	}
}

func keyOf(v forkbox.NetVerdict) foldKey {
	v = tidy(v)
	t := v.Target
	return foldKey{t.Proto, t.Host, v.Why, t.Addr, t.Port, t.Method, t.Path}
}

// repeats counts an attempt that is like a recent one.
func (l *log) repeats(v forkbox.NetVerdict) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count(keyOf(v))
}

func (l *log) count(key foldKey) bool {
	f := l.folds[key]
	if f == nil {
		return false
	}
	f.conn.Times++
	f.last, f.dirty = time.Now(), true
	return true
}

// first makes the record of an attempt that none is like. Where there are too
// many different ones it counts as one more of its protocol.
func (l *log) first(v forkbox.NetVerdict, state forkbox.ConnState, who forkbox.Who) (forkbox.Conn, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.folds) >= foldLimit {
		v = forkbox.NetVerdict{
			Target: forkbox.NetTarget{Proto: v.Target.Proto},
			Why:    "too many different attempts at once to tell each: " + v.Why,
		}
		who = forkbox.Who{}
	}
	key := keyOf(v)
	if l.count(key) {
		return forkbox.Conn{}, false
	}
	if len(l.folds) >= foldLimit+64 {
		return forkbox.Conn{}, false // the reasons, too, are endless
	}
	conn := l.begin(v, state)
	setWho(&conn, who)
	l.folds[key] = &fold{conn: conn, last: time.Now()}
	l.wind()
	return conn, true
}

// tell records how often attempts were repeated, and lookups that led nowhere.
func (l *log) tell(all bool) {
	for _, conn := range l.due(all) {
		l.cfg.Record(conn)
	}
}

func (l *log) due(all bool) []forkbox.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	var told []forkbox.Conn
	for key, f := range l.folds {
		if f.dirty {
			f.dirty = false
			told = append(told, f.conn)
		}
		if time.Since(f.last) > foldFor || time.Since(f.conn.Time) > foldLife {
			delete(l.folds, key)
		}
	}
	return append(told, l.dueLookups(all)...)
}
