//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// insideHalfOpen begins COUNT connections to ADDRESS PORT and ends none of them.
// Who may use raw sockets sends as if from a neighbour that never answers;
// others connect and go on before it is done.
func insideHalfOpen(args []string) (string, error) {
	to, port, count := netip.MustParseAddr(args[0]), uint16(countArg(args, 1, 80)), countArg(args, 2, 100000)
	fd, err := headerSocket()
	if errors.Is(err, unix.EPERM) {
		return beginMany(to, port, count)
	} else if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	for i := range count {
		from := netip.MustParseAddr("198.18.0.2")
		if i%2 == 1 { // as if from a neighbour
			from = netip.AddrFrom4([4]byte{198, 18, byte(1 + i/60000), byte(3 + i%7)})
		}
		p := syn(from, to, uint16(1024+i%60000), port)
		for unix.Sendto(fd, p, 0, &unix.SockaddrInet4{Addr: to.As4()}) == unix.ENOBUFS {
			time.Sleep(time.Millisecond) // a queue is full, which nothing tells of
		}
	}
	return fmt.Sprint("sent ", count), nil
}

// beginMany keeps as many half-open as the process may have files. They go to
// several ports: the kernel takes long to find a port of its own for one of many
// connections to the same place.
func beginMany(to netip.Addr, port uint16, count int) (string, error) {
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil {
		return "", err
	}
	room := min(int(most.Cur)-100, 5000)
	open, refused := make([]int, 0, room), 0
	for i := range count {
		if len(open) == room { // the oldest make place
			unix.Close(open[0])
			open = open[1:]
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		open = append(open, fd)
		if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: to.As4(), Port: int(port) + i%500}); err != unix.EINPROGRESS {
			refused++
		}
	}
	return fmt.Sprint("began ", count, ", at once refused ", refused), nil
}

// insideBegin begins COUNT connections with connect(2), and keeps them as they
// are until its stdin ends: ADDRESS PORT COUNT.
func insideBegin(args []string) (string, error) {
	said, err := beginMany(netip.MustParseAddr(args[0]), uint16(countArg(args, 1, 80)), countArg(args, 2, 5000))
	if err != nil {
		return "", err
	}
	fmt.Println(said)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return "done", nil
}

// insideFlood connects COUNT times to ADDRESS, one after the other, and counts
// what came of it.
func insideFlood(args []string) (string, error) {
	ends := map[string]int{}
	for range countArg(args, 1, 1000) {
		c, err := net.DialTimeout("tcp", args[0], netInsideLife)
		if err == nil {
			c.Close()
			ends["connected"]++
			continue
		}
		var errno unix.Errno
		if errors.As(err, &errno) {
			ends[unix.ErrnoName(errno)]++
		} else {
			ends["other"]++
		}
	}
	return fmt.Sprint(ends), nil
}

// insideRate gets or sends as much as it can for SECONDS: WAY URL SECONDS.
func insideRate(args []string) (string, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(countArg(args, 2, 3))*time.Second)
	defer cancel()
	method, body := http.MethodGet, &counting{}
	if args[0] == "up" {
		method = http.MethodPut
	}
	r, err := http.NewRequestWithContext(ctx, method, args[1], nil)
	if err != nil {
		return "", err
	}
	if args[0] == "up" {
		r.Body = io.NopCloser(body)
	}
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		defer answer.Body.Close()
		_, _ = io.Copy(body, answer.Body)
	}
	return fmt.Sprintf("%d bytes in %.2f s", body.n.Load(), time.Since(begun).Seconds()), nil
}

// counting is endless, and counts what goes through it.
type counting struct{ n atomic.Int64 }

func (c *counting) Read(p []byte) (int, error)  { c.n.Add(int64(len(p))); return len(p), nil }
func (c *counting) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }
