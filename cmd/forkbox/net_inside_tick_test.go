//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// insideTick tells once and again whether its loopback works, and what becomes
// of connections: ALLOWED OTHER. Its name is that of the first that fails, so
// that the host can see it while no daemon reads what it says.
func insideTick(args []string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			if c, err := l.Accept(); err == nil {
				c.Close()
			}
		}
	}()
	last := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		now := fmt.Sprintf("loopback %s, allowed %s, other %s", brief(l.Addr().String()), brief(args[0]), brief(args[1]))
		if now != last {
			fmt.Println(now)
		}
		name := "all-well"
		if strings.Contains(now, "loopback E") {
			name = "no-loopback"
		} else if strings.Contains(now, "allowed E") {
			name = "no-gate"
		}
		_ = os.WriteFile("/proc/self/comm", []byte(name), 0)
		last = now
	}
	return "", nil
}

func brief(address string) string {
	c, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		word, _, _ := strings.Cut(nameOfError(err), ":")
		return strings.ReplaceAll(word, "dial tcp", "E lookup")
	}
	c.Close()
	return "ok"
}
