//go:build linux

package gate

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// line is a way to the name servers on which calls can be kept waiting.
type line struct {
	mu     sync.Mutex
	goOn   chan struct{} // nil while calls go through
	waits  int
	waited int // at most, at a time
}

func (l *line) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.goOn = make(chan struct{})
}

// through lets calls go through from now on; those that wait still do.
func (l *line) through() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	goOn := l.goOn
	l.goOn = nil
	return sync.OnceFunc(func() { close(goOn) })
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	goOn := l.goOn
	if goOn != nil {
		l.waits++
		l.waited = max(l.waited, l.waits)
	}
	l.mu.Unlock()
	if goOn != nil {
		<-goOn
		l.mu.Lock()
		l.waits--
		l.mu.Unlock()
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func (l *line) most() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waited
}

// wantWaiting waits until so many calls wait.
func (l *line) wantWaiting(t *testing.T, n int) {
	t.Helper()
	for range 6000 { // a minute: it only takes so long when a test fails
		l.mu.Lock()
		waits := l.waits
		l.mu.Unlock()
		if waits >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never did %d calls wait", n)
}

// TestNoBoxTakesTheResolverFromOthers: two boxes ask for more than the whole
// daemon may have under way, and no server answers them.
func TestNoBoxTakesTheResolverFromOthers(t *testing.T) {
	var l line
	w := newWorld(t)
	w.name("fine.example", "60 A 203.0.113.1")
	w.name("known.slow.example", "60 A 203.0.113.2")
	r := w.resolver(func(c *ResolverConfig) { c.Dial = l.dial })
	shared := func(c *Config) { c.Resolver = r }
	greedy := []*fixture{openWith(t, newStackBox, "allow *.slow.example", shared), openWith(t, newStackBox, "allow *.slow.example", shared)}
	other := openWith(t, newStackBox, "allow fine.example", shared)
	greedy[0].resolve("known.slow.example")
	l.hold()
	for i, f := range greedy {
		for n := range upstreamLimit {
			go askInside(f.gate, fmt.Sprintf("n%d.of%d.slow.example", n, i))
		}
	}
	l.wantWaiting(t, 2*upstreamShare)
	for _, f := range greedy {
		wantAsked(t, f.gate, upstreamLimit)
	}
	release := l.through()
	defer release()
	if got := short(other.lookup("fine.example", dns.TypeA)); got != "NOERROR: 203.0.113.1" {
		t.Errorf("another box hears %q", got)
	}
	if got := short(greedy[0].lookup("known.slow.example", dns.TypeA)); got != "NOERROR: 203.0.113.2" {
		t.Errorf("of what is remembered a box that asks for much hears %q", got)
	}
	if n := l.most(); n > 2*upstreamShare {
		t.Errorf("%d questions of two boxes were under way", n)
	}
}

// askInside asks a gate as its box does, for what the box can send at a time
// differs with the way it asks.
func askInside(g *Gate, name string) *dns.Msg {
	packed, _ := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA).Pack()
	m := new(dns.Msg)
	m.Unpack(g.names.answerBytes(packed, true))
	return m
}

func wantAsked(t *testing.T, g *Gate, n int64) {
	t.Helper()
	for range 1000 {
		if g.names.asked.Load() >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("only %d questions came", g.names.asked.Load())
}

// TestQuestionsWaitForAPlace: a box that asks for many names at once, as package
// managers do, hears of all of them.
func TestQuestionsWaitForAPlace(t *testing.T) {
	var l line
	f := openWith(t, newStackBox, "allow *.good.example", func(c *Config) {
		c.Resolver.cfg.Dial = l.dial
	})
	l.hold()
	answers := make(chan string)
	const many = 3 * upstreamShare
	for i := range many {
		name := fmt.Sprintf("n%d.good.example", i)
		f.name(name, "60 A 203.0.113.1")
		go func() { answers <- short(askInside(f.gate, name)) }()
	}
	l.wantWaiting(t, upstreamShare)
	l.through()()
	for range many {
		if got := <-answers; got != "NOERROR: 203.0.113.1" {
			t.Errorf("got %q", got)
		}
	}
	if n := len(f.gate.asking); n != 0 {
		t.Errorf("%d places are not given back", n)
	}
	if n := l.most(); n > upstreamShare {
		t.Errorf("%d questions were under way", n)
	}
}

// TestBoxesThatWantToKnowTheSame need no place of their own for it.
func TestBoxesThatWantToKnowTheSame(t *testing.T) {
	var l line
	w := newWorld(t)
	w.name("good.example", "60 A 203.0.113.1")
	r := w.resolver(func(c *ResolverConfig) { c.Dial = l.dial })
	first, second, none := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	l.hold()
	var all sync.WaitGroup
	for _, places := range []chan struct{}{first, second, first, second} {
		all.Go(func() {
			if reply, err := r.lookup(t.Context(), places, question{"good.example", dns.TypeA}); err != nil || len(reply.Addrs) != 1 {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
	l.wantWaiting(t, 1)
	if len(first)+len(second) != 1 {
		t.Errorf("%d and %d places are taken for one question", len(first), len(second))
	}
	wantGivenBack(t, r, "it is being asked for")
	all.Go(func() { r.lookup(t.Context(), none, question{"good.example", dns.TypeA}) })
	l.through()()
	all.Wait()
	wantGivenBack(t, r, "it is known")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.lookup(ended, none, question{"more.example", dns.TypeA}); err == nil || len(first)+len(second) != 0 {
		t.Errorf("without a place: %v; %d and %d are taken", err, len(first), len(second))
	}
	if n := w.timesAsked("good.example"); n != 1 {
		t.Errorf("the world was asked %d times", n)
	}
}

// wantGivenBack has a place for a question that another box asked meanwhile.
func wantGivenBack(t *testing.T, r *Resolver, when string) {
	t.Helper()
	late := make(places, 1)
	late <- struct{}{}
	r.begin(late, question{"good.example", dns.TypeA})
	if len(late) != 0 {
		t.Errorf("%s, and the place is kept", when)
	}
}

// replyOf is an answer of so many texts of so many bytes.
func replyOf(texts, size int) Reply {
	reply := Reply{TTL: time.Hour}
	for range texts {
		rr := &dns.TXT{Hdr: dns.RR_Header{Name: "big.example.", Rrtype: dns.TypeTXT, Class: dns.ClassINET}}
		for left := size; left > 0; left -= 250 {
			rr.Txt = append(rr.Txt, strings.Repeat("x", min(left, 250)))
		}
		reply.Records = append(reply.Records, rr)
	}
	return reply
}

func TestCacheIsBoundedInBytes(t *testing.T) {
	var c cache
	c.put(question{"huge", dns.TypeTXT}, replyOf(12, 5000))
	if _, ok := c.get(question{"huge", dns.TypeTXT}); ok || c.bytes != 0 {
		t.Errorf("an answer of 60 KB is kept, %d bytes", c.bytes)
	}
	large := replyOf(30, 100)
	for i := range 3 * cacheLimit {
		c.put(question{itoa(i), dns.TypeTXT}, large)
		if c.bytes > cacheBytes {
			t.Fatalf("%d bytes are remembered", c.bytes)
		}
	}
	if _, ok := c.get(question{itoa(3*cacheLimit - 1), dns.TypeTXT}); !ok {
		t.Error("the last is forgotten")
	}
	for q := range c.all {
		c.put(q, Reply{TTL: -time.Second}) // smaller now, and over
	}
	before := c.bytes
	c.makeRoom()
	if len(c.all) != 0 || c.bytes != 0 {
		t.Errorf("%d bytes are counted for %d answers, %d before", c.bytes, len(c.all), before)
	}
}

// TestLargeAnswerIsNotTheOldOne: what was known of a name is not what it is now.
func TestLargeAnswerIsNotTheOldOne(t *testing.T) {
	var c cache
	q := question{"big.example", dns.TypeTXT}
	c.put(q, replyOf(1, 10))
	c.put(q, replyOf(12, 5000))
	if reply, ok := c.get(q); ok || c.bytes != 0 {
		t.Errorf("%d records are known, %d bytes", len(reply.Records), c.bytes)
	}
}
