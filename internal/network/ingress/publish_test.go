package ingress

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestPublishAtBothAddresses(t *testing.T) {
	s := serving(t, echo)
	i := newIngress(t, Config{})
	port := publish(t, i, try, forkbox.Port{Box: 3000, Host: free(t)}, s.dial)
	wantEcho(t, connect(t, "127.0.0.1", port), "hello")
	if hasIPv6(t) {
		wantEcho(t, connect(t, "::1", port), "hello")
	}
}

// A client that has said all gets all of the answer, and the server sees the
// end of the question.
func TestHalfClose(t *testing.T) {
	s := serving(t, func(c *net.TCPConn) {
		question, _ := io.ReadAll(c)
		_, _ = c.Write(bytes.Repeat(question, 1000))
	})
	i := newIngress(t, Config{})
	c := connect(t, "127.0.0.1", publish(t, i, try, forkbox.Port{Box: 3000}, s.dial))
	_, _ = io.WriteString(c, "question")
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if want := strings.Repeat("question", 1000); err != nil || string(answer) != want {
		t.Fatalf("%d bytes came, %v; want %d", len(answer), err, len(want))
	}
}

// A server that ends first still hears its client.
func TestHalfCloseByTheServer(t *testing.T) {
	heard := make(chan string, 1)
	s := serving(t, func(c *net.TCPConn) {
		_ = c.CloseWrite()
		rest, _ := io.ReadAll(c)
		heard <- string(rest)
	})
	i := newIngress(t, Config{})
	c := connect(t, "127.0.0.1", publish(t, i, try, forkbox.Port{Box: 3000}, s.dial))
	if rest, err := io.ReadAll(c); err != nil || len(rest) != 0 {
		t.Fatal(rest, err)
	}
	_, _ = io.WriteString(c, "still here")
	c.Close()
	if got := <-heard; got != "still here" {
		t.Fatalf("the server heard %q", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := serving(t, echo)
	i := newIngress(t, Config{Connections: 1000})
	port := publish(t, i, try, forkbox.Port{Box: 3000}, s.dial)
	var all sync.WaitGroup
	for n := range 200 {
		c := connect(t, "127.0.0.1", port)
		said := make([]byte, 100_000)
		random := rand.NewChaCha8([32]byte{byte(n)})
		_, _ = random.Read(said)
		all.Go(func() { _, _ = c.Write(said); _ = c.CloseWrite() })
		all.Go(func() {
			if heard, err := io.ReadAll(c); err != nil || !bytes.Equal(heard, said) {
				t.Errorf("connection %d: %d bytes came back, %v", n, len(heard), err)
			}
		})
	}
	all.Wait()
}

func TestNobodyListensLooksRefused(t *testing.T) {
	i := newIngress(t, Config{})
	wantRefused(t, publish(t, i, try, forkbox.Port{Box: 3000}, nobody(t)))
}

// What breaks in the box is no clean end outside.
func TestResetIsPassedOn(t *testing.T) {
	s := serving(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "half of it")
		_, _ = c.Read(make([]byte, 1))
		_ = c.SetLinger(0)
	})
	i := newIngress(t, Config{})
	c := connect(t, "127.0.0.1", publish(t, i, try, forkbox.Port{Box: 3000}, s.dial))
	_, _ = io.ReadFull(c, make([]byte, len("half of it")))
	_, _ = c.Write([]byte("x"))
	wantReset(t, c)
}

func TestPublishTakenPort(t *testing.T) {
	s := serving(t, echo)
	i := newIngress(t, Config{})
	host := publish(t, i, try, forkbox.Port{Box: 3000}, s.dial)
	for _, c := range []struct {
		box  forkbox.Box
		told bool
	}{{aBox("222222222222", "mine", 1000), true}, {aBox("333333333333", "others", 1001), false}} {
		_, err := i.Publish(c.box, forkbox.Port{Box: 80, Host: host}, s.dial)
		if e := wantCode(t, err, forkbox.Exists); strings.Contains(e.Why, "box try") != c.told {
			t.Errorf("%s is told: %v", c.box.Name, err)
		}
	}
	l := listening(t)
	_, err := i.Publish(try, forkbox.Port{Box: 80, Host: l.Addr().(*net.TCPAddr).Port}, s.dial)
	wantCode(t, err, forkbox.Exists)
}

// Who has only [::1] would get those who say "localhost".
func TestPublishPortTakenAtTheOtherAddress(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this host has no IPv6")
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	i := newIngress(t, Config{})
	_, err = i.Publish(try, forkbox.Port{Box: 80, Host: port}, nobody(t))
	wantCode(t, err, forkbox.Exists)
	back, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", l.Addr().String()[len("[::1]:"):]))
	if err != nil {
		t.Fatalf("the first address was not given back: %v", err)
	}
	back.Close()
}

func TestPublishAnyPort(t *testing.T) {
	i := newIngress(t, Config{})
	number := free(t)
	first := publish(t, i, try, forkbox.Port{Box: number}, nobody(t))
	if first != number {
		t.Errorf("port %d was free, yet it is at %d", number, first)
	}
	other := aBox("222222222222", "other", 1000)
	if second := publish(t, i, other, forkbox.Port{Box: number}, nobody(t)); second == number || second < privileged {
		t.Errorf("port %d is taken, and got again as %d", number, second)
	}
	if third := publish(t, i, try, forkbox.Port{Box: 80}, nobody(t)); third < privileged {
		t.Errorf("port %d went to one who is not root", third)
	}
}

func TestPrivilegedPorts(t *testing.T) {
	i := newIngress(t, Config{})
	_, err := i.Publish(try, forkbox.Port{Box: 80, Host: 1023}, nobody(t))
	wantCode(t, err, forkbox.Denied)
	root := aBox("222222222222", "root", 0)
	if !isRoot() {
		_, err := i.Publish(root, forkbox.Port{Box: 80, Host: 1023}, nobody(t))
		if err != nil { // some hosts let every user
			wantCode(t, err, forkbox.Denied)
		}
		return
	}
	s := serving(t, echo)
	for port := 1023; port > 900; port-- {
		if _, err = i.Publish(root, forkbox.Port{Box: 80, Host: port}, s.dial); err == nil {
			wantEcho(t, connect(t, "127.0.0.1", port), "for root")
			return
		}
	}
	t.Fatal(err)
}

func TestPortsThatAreNone(t *testing.T) {
	i := newIngress(t, Config{})
	for _, p := range []forkbox.Port{{}, {Box: -1}, {Box: 65536}, {Box: 80, Host: -1}, {Box: 80, Host: 65536}} {
		_, err := i.Publish(try, p, nobody(t))
		wantCode(t, err, forkbox.Invalid)
	}
	for _, port := range []int{-1, 0, 65536} {
		_, err := i.URL(try, port, nobody(t))
		wantCode(t, err, forkbox.Invalid)
	}
}

// A box that was found again is dialled in a new way.
func TestPublishAgain(t *testing.T) {
	s := serving(t, echo)
	i := newIngress(t, Config{})
	port := publish(t, i, try, forkbox.Port{Box: 3000}, nobody(t))
	for _, host := range []int{0, port} {
		if again := publish(t, i, try, forkbox.Port{Box: 3000, Host: host}, s.dial); again != port {
			t.Errorf("it went from %d to %d", port, again)
		}
	}
	wantEcho(t, connect(t, "127.0.0.1", port), "hello")
	if second := publish(t, i, try, forkbox.Port{Box: 3000, Host: free(t)}, s.dial); second == port {
		t.Error("another port of the host was asked for")
	}
}

func TestPortsOfOneBoxAreBounded(t *testing.T) {
	i := newIngress(t, Config{})
	for n := range portsPerBox {
		publish(t, i, try, forkbox.Port{Box: 20000 + n}, nobody(t))
	}
	_, err := i.Publish(try, forkbox.Port{Box: 30000}, nobody(t))
	wantCode(t, err, forkbox.Busy)
	publish(t, i, try, forkbox.Port{Box: 20000}, nobody(t)) // it is there
	publish(t, i, aBox("222222222222", "other", 1000), forkbox.Port{Box: 30000}, nobody(t))
}

func TestUnpublish(t *testing.T) {
	s := serving(t, echo)
	i := newIngress(t, Config{})
	going := publish(t, i, try, forkbox.Port{Box: 3000}, s.dial)
	also := publish(t, i, try, forkbox.Port{Box: 3000, Host: free(t)}, s.dial)
	stays := publish(t, i, try, forkbox.Port{Box: 4000}, s.dial)
	c := connect(t, "127.0.0.1", going)
	wantEcho(t, c, "hello")
	i.Unpublish(try.ID, forkbox.Port{Box: 3000, Host: going})
	wantReset(t, c)
	wantEcho(t, connect(t, "127.0.0.1", also), "hello")
	i.Unpublish(try.ID, forkbox.Port{Box: 3000})
	i.Unpublish(try.ID, forkbox.Port{Box: 3000})
	i.Unpublish("nobody", forkbox.Port{Box: 3000})
	other := aBox("222222222222", "other", 1001)
	publish(t, i, other, forkbox.Port{Box: 1, Host: going}, s.dial)
	publish(t, i, other, forkbox.Port{Box: 1, Host: also}, s.dial)
	wantEcho(t, connect(t, "127.0.0.1", stays), "hello")
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	dialling := make(chan struct{})
	slow := func(ctx context.Context, _ int) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := serving(t, echo)
	i := newIngress(t, Config{})
	waits := connect(t, "127.0.0.1", publish(t, i, try, forkbox.Port{Box: 3000}, slow))
	open := connect(t, "127.0.0.1", publish(t, i, try, forkbox.Port{Box: 4000}, s.dial))
	wantEcho(t, open, "hello")
	<-dialling
	i.Close(try.ID)
	wantReset(t, waits)
	wantReset(t, open)
	i.Close(try.ID)
	if len(i.boxes) != 0 || len(i.hosts) != 0 {
		t.Error("something of the box is remembered")
	}
}

func TestShutdown(t *testing.T) {
	s := serving(t, echo)
	i := newIngress(t, Config{})
	c := connect(t, "127.0.0.1", publish(t, i, try, forkbox.Port{Box: 3000}, s.dial))
	wantEcho(t, c, "hello")
	i.Shutdown()
	wantReset(t, c)
	_, err := i.Publish(try, forkbox.Port{Box: 3000}, s.dial)
	wantCode(t, err, forkbox.Unavailable)
	_, err = i.URL(try, 3000, s.dial)
	wantCode(t, err, forkbox.Unavailable)
}

// A visitor too many is refused, until another goes. Another box is not
// touched.
func TestConnectionsAreBounded(t *testing.T) {
	s := serving(t, echo)
	i := newIngress(t, Config{Connections: 8}) // two for each box
	port := publish(t, i, try, forkbox.Port{Box: 3000}, s.dial)
	first, second := connect(t, "127.0.0.1", port), connect(t, "127.0.0.1", port)
	wantEcho(t, first, "one")
	wantEcho(t, second, "two")
	wantRefused(t, port)
	other := publish(t, i, aBox("222222222222", "other", 1000), forkbox.Port{Box: 3000}, s.dial)
	wantEcho(t, connect(t, "127.0.0.1", other), "three")
	first.Close()
	eventually(t, "a free place", func() bool { return i.boxes[try.ID].room.open.Load() < 2 })
	wantEcho(t, connect(t, "127.0.0.1", port), "four")
}
