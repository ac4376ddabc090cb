package gate

import (
	"net/netip"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	// foldFor is how long an attempt is taken for a repetition of one like it.
	foldFor = 10 * time.Second
	// foldLife is how long one record stands for repetitions at most: the owner
	// who looks at the last hour wants to see what goes on.
	foldLife = time.Minute
	// foldTell is how often repetitions are told.
	foldTell = time.Second
	// foldLimit is how many different refused attempts are told apart at a time.
	// Beyond, they are one record per protocol: 100 000 ports tried in a second
	// must not be 100 000 records.
	foldLimit = 1024
	// askLimit is how many attempts ask for their process at a time: a flood
	// would queue up behind it, and the daemon work for one box alone.
	askLimit = 4
)

// log makes records of attempts. Refused ones that are alike become one.
type log struct {
	cfg   *Config
	asks  chan struct{}
	mu    sync.Mutex
	folds map[foldKey]*fold
	// lookups are refused names that the box has not tried to connect to yet.
	lookups map[string]*lookup
	timer   *time.Timer // runs while there is anything in these
	closed  bool
	telling sync.Mutex
}

type foldKey struct {
	proto, host, why string
	addr             netip.Addr
	port             int
	method, path     string
}

type fold struct {
	conn  forkbox.Conn
	last  time.Time
	dirty bool
}

func newLog(cfg *Config) *log {
	return &log{
		cfg:     cfg,
		asks:    make(chan struct{}, askLimit),
		folds:   map[foldKey]*fold{},
		lookups: map[string]*lookup{},
	}
}

// decided counts an attempt.
func (l *log) decided(allowed bool) {
	if l.cfg.Decided != nil {
		l.cfg.Decided(allowed)
	}
}

// startTimer has what was noted told in a while; the caller holds the lock. Only then
// a timer runs: most boxes never have anything refused.
func (l *log) startTimer() {
	if l.timer == nil && !l.closed {
		l.timer = time.AfterFunc(foldTell, l.tick)
	}
}

// tick tells what was folded, and forgets what is over.
func (l *log) tick() {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.mu.Lock()
	over := l.closed
	l.mu.Unlock()
	if over {
		return // all is told, and Record is not called after Close
	}
	l.tell(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if len(l.folds)+len(l.lookups) > 0 {
		l.startTimer()
	}
}

// close tells the rest.
func (l *log) close() {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.telling.Lock() // what is being told comes first
	defer l.telling.Unlock()
	l.tell(true)
}

// newRecord begins the record of an attempt.
func (l *log) newRecord(v forkbox.NetVerdict, state forkbox.ConnState) forkbox.Conn {
	if state != forkbox.ConnOpen { // what is allowed has a name that was given out
		v = tidy(v)
	}
	return forkbox.Conn{
		ID:         l.cfg.NextID(),
		Box:        l.cfg.Box.ID,
		Name:       l.cfg.Box.Name,
		UID:        l.cfg.Box.Owner.UID,
		Time:       time.Now(),
		State:      state,
		Times:      1,
		NetVerdict: v,
	}
}

// findHolder finds the process behind a socket, unless too many attempts ask at
// once. It does so while the process waits to hear of its attempt: later the
// process may be gone.
func (l *log) findHolder(from socket) (who forkbox.Who) {
	if l.cfg.Holder == nil || from.local.Port() == 0 {
		return who
	}
	select {
	case l.asks <- struct{}{}:
		defer func() { <-l.asks }()
		who, _ = l.cfg.Holder(from.proto, from.local, from.remote)
	default:
	}
	return who
}

func setWho(c *forkbox.Conn, who forkbox.Who) {
	c.Exec, c.PID, c.Command = who.Exec, who.PID, who.Command
}

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
	l.decided(state != forkbox.ConnRefused)
	l.forgetLookup(v.Target.Host)
	if l.countRepeat(v) {
		return
	}
	var who forkbox.Who
	if from != nil {
		who = l.findHolder(*from)
	}
	if conn, fresh := l.add(v, state, who); fresh {
		l.cfg.Record(conn)
	}
}

func keyOf(v forkbox.NetVerdict) foldKey {
	v = tidy(v)
	t := v.Target
	return foldKey{t.Proto, t.Host, v.Why, t.Addr, t.Port, t.Method, t.Path}
}

// countRepeat counts an attempt that is like a recent one.
func (l *log) countRepeat(v forkbox.NetVerdict) bool {
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

// add makes the record of an attempt that none is like. Where there are too
// many different ones it counts as one more of its protocol.
func (l *log) add(v forkbox.NetVerdict, state forkbox.ConnState, who forkbox.Who) (forkbox.Conn, bool) {
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
	conn := l.newRecord(v, state)
	setWho(&conn, who)
	l.folds[key] = &fold{conn: conn, last: time.Now()}
	l.startTimer()
	return conn, true
}

// tell records how often attempts were repeated, and lookups that led nowhere.
func (l *log) tell(all bool) {
	for _, conn := range l.takeDue(all) {
		l.cfg.Record(conn)
	}
}

func (l *log) takeDue(all bool) []forkbox.Conn {
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
	return append(told, l.takeDueLookups(all)...)
}
