//go:build linux

package main

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestAPIPage types docs/API.md into a shell: curl alone makes a box, runs a
// command in it, reads a file, sees the diff, applies and undoes.
func TestAPIPage(t *testing.T) {
	t.Parallel()
	page := strings.ReplaceAll(docsPage(t, "API.md"), ":7171", ":"+freePort(t))
	typePage(t, "API.md", page, 15)
}

// freePort is a port that no program listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
