package linux

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestSocketWithALongPath(t *testing.T) {
	t.Parallel()
	dir := tempDir(t) + "/" + strings.Repeat("long/", 40)
	must(t, os.MkdirAll(dir, 0o700))
	path := dir + "init.sock"
	file, err := ListenUnix(path)
	must(t, err)
	defer file.Close()
	l, err := net.FileListener(file)
	must(t, err)
	defer l.Close()
	conn, err := DialUnix(path)
	must(t, err)
	defer conn.Close()
	if pid, err := PeerPID(conn); err != nil || pid != os.Getpid() {
		t.Errorf("the peer is %d, %v; we are %d", pid, err, os.Getpid())
	}
	other, err := l.Accept()
	must(t, err)
	defer other.Close()
	_, _ = conn.Write([]byte("hello"))
	buf := make([]byte, 16)
	if n, err := other.Read(buf); string(buf[:n]) != "hello" {
		t.Errorf("got %q, %v", buf[:n], err)
	}
	if _, err := ListenUnix(path); err == nil {
		t.Error("a path was bound twice")
	}
}

func TestDialNobody(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if _, err := DialUnix(dir + "/no.sock"); err == nil {
		t.Error("connected to nothing")
	}
	if _, err := DialUnix(dir + "/no/such/dir.sock"); err == nil {
		t.Error("connected to nothing in a directory that is not there")
	}
	file, err := ListenUnix(dir + "/stale.sock")
	must(t, err)
	file.Close()
	if _, err := DialUnix(dir + "/stale.sock"); err == nil {
		t.Error("connected to a socket that nobody listens on")
	}
}

func TestSocketFilesCloseOnExec(t *testing.T) {
	t.Parallel()
	file, err := ListenUnix(tempDir(t) + "/s")
	must(t, err)
	defer file.Close()
	if flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %x, %v", flags, err)
	}
}
