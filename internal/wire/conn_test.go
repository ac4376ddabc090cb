//go:build unix

package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

type message struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

// pair is two ends of a connection.
func pair(t testing.TB) (a, b *Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]*Conn, 2)
	for i, fd := range fds {
		syscall.CloseOnExec(fd)
		f := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = New(c.(*net.UnixConn))
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	for _, want := range []message{{}, {"text", 1}, {strings.Repeat("x", 1<<20), 2}} {
		done := make(chan error, 1)
		go func() { done <- a.Send(want) }()
		var got message
		files, err := b.Recv(&got)
		if err != nil || len(files) != 0 || got != want {
			t.Errorf("got %.20q %d, %v, %v", got.Text, got.N, files, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestFilesTravel(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	for n := range maxFiles + 1 {
		var pipes []*os.File
		var write []*os.File
		for range n {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			pipes, write = append(pipes, r), append(write, w)
		}
		if err := a.Send(message{N: n}, write...); err != nil {
			t.Fatal(err)
		}
		var got message
		files, err := b.Recv(&got)
		if err != nil || len(files) != n || got.N != n {
			t.Fatalf("%d files arrived as %d with %d, %v", n, len(files), got.N, err)
		}
		for i, f := range files {
			fmt.Fprint(f, i)
			f.Close()
			buf := make([]byte, 8)
			if k, err := pipes[i].Read(buf); err != nil || string(buf[:k]) != fmt.Sprint(i) {
				t.Errorf("file %d of %d: %q, %v", i, n, buf[:k], err)
			}
		}
	}
}

// TestFilesStayWithTheirMessage also when messages queue up.
func TestFilesStayWithTheirMessage(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	with := func(n int) []*os.File { return []*os.File{null, null, null}[:n%4] }
	for n := range 20 {
		if err := a.Send(message{N: n}, with(n)...); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		var got message
		files, err := b.Recv(&got)
		if err != nil || got.N != n || len(files) != n%4 {
			t.Errorf("message %d came as %d with %d files, %v", n, got.N, len(files), err)
		}
		for _, f := range files {
			f.Close()
		}
	}
}

func TestReceivedFilesCloseOnExec(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if err := a.Send(message{}, os.Stdin); err != nil {
		t.Fatal(err)
	}
	files, err := b.Recv(&message{})
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	defer files[0].Close()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, files[0].Fd(), syscall.F_GETFD, 0)
	if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
		t.Errorf("flags %x, %v", flags, errno)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if err := a.Send(message{Text: strings.Repeat("x", MaxMessage)}); err == nil {
		t.Error("a message over the bound was sent")
	}
	if err := a.Send(message{}, make([]*os.File, maxFiles+1)...); err == nil {
		t.Error("too many files were sent")
	}
	if err := a.Send(message{Text: "still fine"}); err != nil {
		t.Error(err)
	}
	var got message
	if _, err := b.Recv(&got); err != nil || got.Text != "still fine" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, _ = a.Unix().Write(binary.BigEndian.AppendUint32(nil, MaxMessage+1))
	if _, err := b.Recv(&got); err == nil {
		t.Error("a message over the bound was received")
	}
}

func TestTorn(t *testing.T) {
	t.Parallel()
	whole := frame(`{"text":"x","n":1}`)
	for cut := range len(whole) {
		a, b := pair(t)
		_, _ = a.Unix().Write(whole[:cut])
		a.Close()
		_, err := b.Recv(&message{})
		if cut == 0 && !errors.Is(err, io.EOF) || err == nil {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
}

// TestArrivesInPieces: the head too may come byte by byte.
func TestArrivesInPieces(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	go func() {
		for _, c := range frame(`{"text":"slow","n":7}`) {
			_, _ = a.Unix().Write([]byte{c})
			time.Sleep(time.Millisecond)
		}
	}()
	var got message
	if _, err := b.Recv(&got); err != nil || got != (message{"slow", 7}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func frame(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// TestFilesOfABrokenMessageAreClosed, or a hostile box could fill the daemon's
// table of open files.
func TestFilesOfABrokenMessageAreClosed(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, _, err = a.Unix().WriteMsgUnix(frame("not JSON"), rights([]*os.File{w}), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if files, err := b.Recv(&message{}); err == nil {
		t.Errorf("got %v", files)
	}
	_ = r.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the file is still open: %v", err)
	}
}

func TestManySenders(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	const senders, each = 20, 50
	var group sync.WaitGroup
	for s := range senders {
		group.Go(func() {
			for n := range each {
				if err := a.Send(message{Text: strings.Repeat("y", s*1000), N: s*each + n}, os.Stdin); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	seen := map[int]bool{}
	for range senders * each {
		var got message
		files, err := b.Recv(&got)
		if err != nil || len(files) != 1 || len(got.Text) != got.N/each*1000 || seen[got.N] {
			t.Fatalf("got %d with %d bytes and %d files, %v", got.N, len(got.Text), len(files), err)
		}
		files[0].Close()
		seen[got.N] = true
	}
	group.Wait()
}

// FuzzRecv: whatever comes, Recv returns, and leaves no file open.
func FuzzRecv(f *testing.F) {
	f.Add(frame(`{"text":"x"}`), true)
	f.Add([]byte{0, 0, 0, 0}, false)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1}, true)
	f.Add([]byte("ab"), true)
	f.Add(bytes.Repeat(frame("{}"), 3), false)
	f.Fuzz(func(t *testing.T, raw []byte, withFile bool) {
		a, b := pair(t)
		var oob []byte
		if withFile {
			oob = rights([]*os.File{os.Stdin})
		}
		if len(raw) > 0 {
			raw = raw[:min(len(raw), 32<<10)]
			if _, _, err := a.Unix().WriteMsgUnix(raw, oob, nil); err != nil {
				t.Skip(err)
			}
		}
		a.Close()
		for {
			files, err := b.Recv(&message{})
			for _, f := range files {
				f.Close()
			}
			if err != nil {
				return
			}
		}
	})
}
