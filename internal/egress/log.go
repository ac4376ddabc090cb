package egress

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
	stop    chan struct{}
	done    chan struct{}
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
	l := &log{
		cfg:     cfg,
		asks:    make(chan struct{}, askLimit),
		folds:   map[foldKey]*fold{},
		lookups: map[string]*lookup{},
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	go l.run()
	return l
}

// run tells what was folded, and forgets what is over.
func (l *log) run() {
	defer close(l.done)
	tick := time.NewTicker(foldTell)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			l.tell(true)
			return
		case <-tick.C:
			l.tell(false)
		}
	}
}

func (l *log) close() {
	close(l.stop)
	<-l.done
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

// ask finds the process behind a socket, unless too many are asking.
func (l *log) ask(from socket) (forkbox.Who, bool) {
	if l.cfg.Holder == nil || from.local.Port() == 0 {
		return forkbox.Who{}, false
	}
	select {
	case l.asks <- struct{}{}:
		defer func() { <-l.asks }()
		return l.cfg.Holder(from.proto, from.local, from.remote)
	default:
		return forkbox.Who{}, false
	}
}

// asked is who makes an attempt, as soon as that is known.
type asked struct {
	done chan struct{}
	who  forkbox.Who
}

// askFor begins to find that out, while the attempt is under way: its process is
// there for as long as it waits.
func (l *log) askFor(from socket) *asked {
	a := &asked{done: make(chan struct{})}
	if l.cfg.Holder == nil {
		close(a.done)
		return a
	}
	go func() {
		defer close(a.done)
		a.who, _ = l.ask(from)
	}()
	return a
}

// askTime is how long an attempt waits for that: far longer than it takes, unless
// the machine has other things to do.
const askTime = 50 * time.Millisecond

func (a *asked) wait() {
	select {
	case <-a.done:
		return
	default:
	}
	timer := time.NewTimer(askTime)
	defer timer.Stop()
	select {
	case <-a.done:
	case <-timer.C:
	}
}

func setWho(c *forkbox.Conn, who forkbox.Who) {
	c.Exec, c.PID, c.Command = who.Exec, who.PID, who.Command
}
