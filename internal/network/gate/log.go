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
	// foldLife is how long one record stands for repetitions at most: somebody
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
	// lookups are refused names that nobody has tried to connect to yet.
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

// wind has what was noted told in a while; the caller holds the lock. Only then
// a timer runs: most boxes never have anything refused.
func (l *log) wind() {
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
		return // all is told, and nobody listens any more
	}
	l.tell(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if len(l.folds)+len(l.lookups) > 0 {
		l.wind()
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

// begin is a new record.
func (l *log) begin(v forkbox.NetVerdict, state forkbox.ConnState) forkbox.Conn {
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

// ask finds the process behind a socket, unless too many are asking. It is asked
// for while the process waits to hear of its attempt: later it may be gone.
func (l *log) ask(from socket) (who forkbox.Who) {
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
