package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// agent is who connects in the network cases. It does what each line of its
// stdin says, answers with a line, and ends with its stdin.
type agent struct {
	server string
	held   []net.Conn
}

func (a *agent) run() error {
	fmt.Println("ready")
	orders := make(chan string)
	go func() { // the agent ends, also within an order, when its caller is gone
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			orders <- strings.TrimSpace(lines.Text())
		}
		os.Exit(0)
	}()
	for order := range orders {
		said, err := a.obey(order)
		if err != nil {
			said = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(said)
	}
	return nil
}

func (a *agent) obey(line string) (string, error) {
	var verb string
	var n int64
	if _, err := fmt.Sscan(line, &verb, &n); err != nil {
		return "", err
	}
	switch verb {
	case "touch":
		return a.touches(n)
	case "send":
		return timed(func() error { return a.send(n) })
	case "fetch":
		return timed(func() error { return a.fetch(n) })
	case "hold":
		return "held", a.hold(n)
	}
	return "", fmt.Errorf("nothing is known of %q", line)
}

func timed(do func() error) (string, error) {
	start := time.Now()
	err := do()
	return fmt.Sprint(time.Since(start).Nanoseconds()), err
}

// touches connects, has a byte echoed and closes, n times.
func (a *agent) touches(n int64) (string, error) {
	var said []string
	for range n {
		took, err := timed(func() error {
			c, err := a.touch()
			if err == nil {
				err = c.Close()
			}
			return err
		})
		if err != nil {
			return "", err
		}
		said = append(said, took)
	}
	return strings.Join(said, " "), nil
}

func (a *agent) touch() (net.Conn, error) {
	c, err := a.ask(askEcho)
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	if err != nil {
		c.Close()
	}
	return c, err
}

func (a *agent) ask(ask byte) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", a.server, 10*time.Second)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(60 * time.Second)) // nothing hangs for ever
	_, err = c.Write([]byte{ask})
	if err != nil {
		c.Close()
	}
	return c, err
}

// send takes until the server has said that it got all.
func (a *agent) send(n int64) error {
	c, err := a.ask(askSwallow)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := pour(c, n); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	var got int64
	if err := binary.Read(c, binary.BigEndian, &got); err != nil {
		return err
	}
	return whole(got, n)
}

func (a *agent) fetch(n int64) error {
	c, err := a.ask(askPour)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := binary.Write(c, binary.BigEndian, n); err != nil {
		return err
	}
	got, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, streamChunk))
	if err != nil {
		return err
	}
	return whole(got, n)
}

func whole(got, n int64) error {
	if got != n {
		return fmt.Errorf("%d of %d bytes arrived", got, n)
	}
	return nil
}

// hold has so many connections open from now on, each of which was used.
func (a *agent) hold(n int64) error {
	for _, c := range a.held[min(int(n), len(a.held)):] {
		c.Close()
	}
	a.held = a.held[:min(int(n), len(a.held))]
	for int64(len(a.held)) < n {
		c, err := a.touch()
		if err != nil {
			return fmt.Errorf("after %d connections: %w", len(a.held), err)
		}
		_ = c.SetDeadline(time.Time{})
		a.held = append(a.held, c)
	}
	return nil
}
