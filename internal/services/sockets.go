package services

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// listener is a socket that waits for connections.
type listener struct {
	port int    // of TCP; 0 for a unix socket
	path string // of a unix socket
}

// readTCP finds the listeners in /proc/net/tcp and tcp6, by inode. What it does
// not understand it passes over: a newer kernel may add lines and columns.
func readTCP(from io.Reader, into map[string]listener) error {
	const listening = "0A"
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != listening {
			continue
		}
		_, hex, ok := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if ok && err == nil && port > 0 && f[9] != "0" {
			into[f[9]] = listener{port: int(port)}
		}
	}
	return lines.Err()
}

// readUnix finds the listeners in /proc/net/unix, by inode. Those without a path,
// and abstract ones, are passed over: no box sees them.
func readUnix(from io.Reader, into map[string]listener) error {
	const accepts = 1 << 16 // __SO_ACCEPTCON
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		// The path is the rest of the line, whatever is in it.
		f := strings.Fields(lines.Text())
		if len(f) < 8 || !strings.HasPrefix(f[7], "/") {
			continue
		}
		flags, err := strconv.ParseUint(f[3], 16, 32)
		if err == nil && flags&accepts != 0 {
			_, name, _ := strings.Cut(lines.Text(), " "+f[6]+" ")
			into[f[6]] = listener{path: name}
		}
	}
	return lines.Err()
}
