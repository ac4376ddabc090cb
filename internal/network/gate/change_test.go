//go:build linux

package gate

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestPolicyHoldsForWhatIsBeingConnected changes the policy between the verdict
// and the connection.
func TestPolicyHoldsForWhatIsBeingConnected(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		dialing, goOn := make(chan struct{}), make(chan struct{})
		f := open(t, "allow any:good.example", func(c *Config) {
			dial := c.Dial
			c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				dialing <- struct{}{}
				<-goOn
				return dial(ctx, network, address)
			}
		})
		f.name("good.example", "60 A 203.0.113.1")
		f.tcp("203.0.113.1:22", echo)
		f.udpEcho("203.0.113.1:22")
		address := f.resolve("good.example").String() + ":22"
		heard := make(chan int)
		go func() {
			conn, err := f.box.dial(network, address)
			if err != nil {
				heard <- 0
				return
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(3 * time.Second))
			io.WriteString(conn, "data that leaves\n")
			n, _ := conn.Read(make([]byte, 64))
			heard <- n
		}()
		<-dialing
		f.gate.SetPolicy(policy(t, "deny any:good.example"))
		close(goOn)
		if n := <-heard; n != 0 {
			t.Errorf("%s: %d bytes came back over what was denied", network, n)
		}
		c := f.wantRecord("its end", func(c forkbox.Conn) bool { return c.State == forkbox.ConnRefused && c.Target.Host == "good.example" })
		if c.Allowed || c.Why == "" || c.Out != 0 {
			t.Errorf("%s: the record is %+v", network, c)
		}
	}
}

// TestTunnelsEndWhenRequestsHaveToBeSeen: what was relayed without being looked
// into cannot be judged by rules about requests.
func TestTunnelsEndWhenRequestsHaveToBeSeen(t *testing.T) {
	f := open(t, "allow good.example\nallow other.example")
	for i, name := range []string{"good.example", "other.example"} {
		addr := "203.0.113." + itoa(i+1)
		f.name(name, "60 A "+addr)
		f.https(addr + ":443")
		f.tcp(addr+":22", echo)
	}
	tunnel := func(name string) *tls.Conn {
		t.Helper()
		conn, err := f.dialName(name, 443)
		if err != nil {
			t.Fatal(err)
		}
		client := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err := client.Handshake(); err != nil {
			t.Fatal(err)
		}
		return client
	}
	plainly := func(name string) net.Conn {
		t.Helper()
		conn, err := f.dialName(name, 22)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "SSH-2.0-x\r\n")
		if _, err := io.ReadFull(conn, make([]byte, 11)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	ends := []net.Conn{tunnel("good.example"), plainly("good.example")}
	stays := tunnel("other.example")
	silent, err := f.dialName("good.example", 443) // will be judged when it says something
	if err != nil {
		t.Fatal(err)
	}
	f.gate.SetPolicy(policy(t, "deny POST good.example\nallow good.example\nallow other.example"))
	for _, conn := range ends {
		if _, err := conn.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("what has to be seen into ended with %v", err)
		}
	}
	f.wantRecord("its end", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "good.example" && c.Target.Port == 443 && !c.Allowed && c.Why != ""
	})
	io.WriteString(stays, "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n")
	if _, err := stays.Read(make([]byte, 1)); err != nil {
		t.Errorf("another host's: %v", err)
	}
	if n := f.gate.Stats().Open; n != 2 {
		t.Errorf("%d are open, not the other host's and the silent one", n)
	}
	if shake(silent, "good.example") == nil {
		t.Error("the gate cannot see into it, and it passed")
	}
}

// TestInterceptedConnectionsStay: their requests are judged one by one.
func TestInterceptedConnectionsStay(t *testing.T) {
	held, over := make(chan struct{}), make(chan struct{})
	f := open(t, "allow GET good.example/x", func(c *Config) {
		c.Intercept = func(conn net.Conn, _ Meta) {
			held <- struct{}{}
			io.WriteString(conn, "!")
			<-over
		}
	})
	f.name("good.example", "60 A 203.0.113.1")
	f.https("203.0.113.1:443")
	conn, err := f.dialName("good.example", 443)
	if err != nil {
		t.Fatal(err)
	}
	defer close(over)
	go shake(conn, "good.example")
	<-held
	f.gate.SetPolicy(policy(t, "allow HEAD good.example/y"))
	if n := f.gate.Stats().Open; n != 1 {
		t.Errorf("%d are open", n)
	}
}

// TestCloseEndsDialsOfAnInterceptor, whose own context does not end.
func TestCloseEndsDialsOfAnInterceptor(t *testing.T) {
	var f *fixture
	ended := make(chan error, 1)
	dialing := make(chan struct{})
	f = open(t, "allow web.example:80", func(c *Config) {
		c.Intercept = func(conn net.Conn, m Meta) {
			spare, _ := m.Dial(context.Background())
			spare.Close()
			f.at("tcp", "203.0.113.1:80", "silence")
			close(dialing)
			_, err := m.Dial(context.Background())
			ended <- err
		}
	})
	f.name("web.example", "60 A 203.0.113.1")
	f.tcp("203.0.113.1:80", echo)
	conn, err := f.dialName("web.example", 80)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: web.example\r\n\r\n")
	<-dialing
	go f.gate.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it was connected")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing ends the dial")
	}
}
