//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// counterArg makes the test binary a service that keeps a number: it writes each
// that it is told to its file, and answers then. The file that comes after that it
// has open as well.
const counterArg = "counter"

func init() {
	if len(os.Args) != 5 || os.Args[1] != counterArg {
		return
	}
	if err := count(os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func count(port, file, shared string) error {
	number, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	also, err := os.OpenFile(shared, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer also.Close()
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		for in := bufio.NewScanner(conn); in.Scan(); {
			if _, err := number.WriteAt(fmt.Appendf(nil, "%08s", in.Text()), 0); err != nil {
				return err
			}
			fmt.Fprintln(conn, "ok")
		}
		conn.Close()
	}
}

// counter is one of them.
type counter struct {
	port, file string
	conn       net.Conn
	says       *bufio.Reader
}

// startCounters starts two, and has them count together until the test ends: the
// first is told a number, and when it has it the second is told.
func startCounters(t *testing.T, dir string) (list [2]*counter, shared string) {
	t.Helper()
	shared = filepath.Join(dir, "shared")
	good(t, os.WriteFile(shared, []byte("both have it\n"), 0o600))
	for i := range list {
		list[i] = &counter{port: freePort(t), file: filepath.Join(dir, fmt.Sprint("number-", i))}
		list[i].start(t, shared)
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- countTogether(list, stop) }()
	t.Cleanup(func() {
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return list, shared
}

func countTogether(list [2]*counter, stop chan struct{}) error {
	for n := 1; ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		for _, c := range list {
			fmt.Fprintln(c.conn, n)
			if _, err := c.says.ReadString('\n'); err != nil {
				return err
			}
		}
	}
}

func good(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (c *counter) start(t *testing.T, shared string) {
	t.Helper()
	self, err := os.Executable()
	good(t, err)
	cmd := exec.Command(self, counterArg, c.port, c.file, shared)
	cmd.Stderr = os.Stderr
	good(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for c.conn == nil {
		c.conn, _ = net.Dial("tcp", "127.0.0.1:"+c.port)
	}
	c.says = bufio.NewReader(c.conn)
	t.Cleanup(func() { c.conn.Close() })
}

// togetherWorld has two services that count together.
type togetherWorld struct {
	*serviceWorld
	list   [2]*counter
	shared string
}

func newTogetherWorld(t *testing.T) *togetherWorld {
	t.Helper()
	dir := servicesDir(t)
	w := &togetherWorld{serviceWorld: &serviceWorld{limitWorld: newLimitWorld(t, calm), dir: dir}}
	w.list, w.shared = startCounters(t, dir)
	return w
}

// servicesDir is a directory of the machine's that boxes see.
func servicesDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fbtest-")
	good(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (w *togetherWorld) names() string { return w.list[0].port + "," + w.list[1].port }

// agree sees that the numbers in a box are of one moment.
func (w *togetherWorld) agree(box string) {
	w.Helper()
	var got [2]int
	for i, c := range w.list {
		text := w.must("exec", box, "--", "cat", c.file)
		n, err := strconv.Atoi(strings.TrimSpace(text))
		w.ok(err)
		got[i] = n
	}
	if got[0] != got[1] && got[0] != got[1]+1 || got[1] == 0 {
		w.Errorf("the first has %d and the second %d", got[0], got[1])
	}
}

// TestServicesTogetherAreOfOneMoment: what is named together begins with data of one
// moment. A still of one of them alone is not used for both, and those that were
// taken together are used again.
func TestServicesTogetherAreOfOneMoment(t *testing.T) {
	t.Parallel()
	w := newTogetherWorld(t)
	for i := range 3 {
		box := fmt.Sprint("box-", i)
		w.must("services", "refresh", "--pause", "1m", w.list[0].port, w.list[1].port)
		w.must("new", "--name", box, "--with", w.names(), "--pause", "1m")
		w.agree(box)
	}
	w.must("services", "refresh", "--pause", "1m", w.list[1].port)
	w.must("new", "--name", "anew", "--with", w.names(), "--pause", "1m")
	w.agree("anew")
	w.must("new", "--name", "again", "--with", w.list[1].port+","+w.list[0].port, "--pause", "1m")
	w.must("new", "--name", "alone", "--with", w.list[0].port)
	anew, again, alone := w.stills("anew"), w.stills("again"), w.stills("alone")
	if anew[0].Taken.Before(*w.stills("box-2")[0].Taken) || !anew[0].Taken.Equal(*anew[1].Taken) || anew[0].Still == anew[1].Still {
		t.Errorf("they are not of one new moment: %+v", anew)
	}
	if again[0].Still != anew[0].Still || again[1].Still != anew[1].Still || alone[0].Still != anew[0].Still {
		t.Errorf("they are not used again:\n%+v\n%+v\n%+v", anew, again, alone)
	}
	if got := w.must("exec", "alone", "--", "cat", w.shared); got != "both have it" {
		t.Errorf("what both have open is %q in a box with one of them", got)
	}
}

// TestServicesTogetherOrNotAtAll: where one of several cannot be copied in time,
// there is no still of any.
func TestServicesTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := newTogetherWorld(t)
	err := w.command("new", "--with", w.names(), "--pause", "1ms").Run()
	if err == nil {
		t.Fatal("they were stopped for longer than they may be")
	}
	var all struct{ Services []forkbox.Service }
	w.ok(json.Unmarshal([]byte(w.must("services", "--json")), &all))
	seen := 0
	for _, s := range all.Services {
		for _, c := range w.list {
			if len(s.Ports) == 1 && strconv.Itoa(s.Ports[0]) == c.port {
				seen++
				if s.Still != nil {
					t.Errorf("there is a still of %+v", s)
				}
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d of the two are found", seen)
	}
	w.must("new", "--name", "one", "--with", w.names(), "--pause", "1m")
	w.agree("one")
}

// stills are the services of a box, in the order of the counters.
func (w *togetherWorld) stills(box string) (list []forkbox.BoxService) {
	w.Helper()
	all := w.services(box)
	for _, c := range w.list {
		for _, s := range all {
			if strconv.Itoa(s.Ports[0]) == c.port {
				list = append(list, s)
			}
		}
	}
	return list
}
