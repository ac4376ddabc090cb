package copying

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/freezer"
)

// A writer counts. Each number goes to several places in one order, by two
// processes that take turns: at any moment, each place has the number of the one
// before it, or the one before that number. What is copied at one moment has that
// too.
const slots, slotSize = 512, 16 << 10

// writing is where the numbers go.
type writing struct {
	dir           string
	log           *os.File
	left, right   *os.File
	partnerWrites io.Writer
	partnerSays   *bufio.Reader
}

// beWriter is the process that begins each number.
func beWriter(dir string) error {
	partner := exec.Command("/proc/self/exe", "be-partner", dir)
	partner.Stderr = os.Stderr
	in, err := partner.StdinPipe()
	if err != nil {
		return err
	}
	out, err := partner.StdoutPipe()
	if err != nil {
		return err
	}
	w := writing{dir: dir, partnerWrites: in, partnerSays: bufio.NewReader(out)}
	if w.log, err = os.OpenFile(filepath.Join(dir, "1-log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY|syncs(), 0o600); err != nil {
		return err
	}
	if w.left, err = tableFile(filepath.Join(dir, "2-left")); err != nil {
		return err
	}
	if w.right, err = tableFile(filepath.Join(dir, "3-right")); err != nil {
		return err
	}
	if err := partner.Start(); err != nil {
		return err
	}
	for n := uint64(1); ; n++ {
		if err := w.write(n); err != nil {
			return err
		}
		if n == 10 {
			fmt.Println("ready")
		}
	}
}

func tableFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_RDWR|syncs(), 0o600)
}

// syncsVar has a writer sync each thing before the next, as a database does that
// survives power failures.
const syncsVar = "COPYING_TEST_SYNCS"

func syncs() int {
	if os.Getenv(syncsVar) != "" {
		return os.O_SYNC
	}
	return 0
}

// newFile writes a file that there may have been none of.
func newFile(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syncs(), 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func (w *writing) write(n uint64) error {
	if _, err := w.log.Write(binary.BigEndian.AppendUint64(nil, n)); err != nil {
		return err
	}
	page := make([]byte, slotSize)
	for i := 0; i < len(page); i += 8 {
		binary.BigEndian.PutUint64(page[i:], n)
	}
	for _, f := range []*os.File{w.left, w.right} {
		if _, err := f.WriteAt(page, int64(n*7919%slots*slotSize)); err != nil {
			return err
		}
	}
	// The partner does the rest.
	if _, err := fmt.Fprintln(w.partnerWrites, n); err != nil {
		return err
	}
	_, err := w.partnerSays.ReadString('\n')
	return err
}

// bePartner writes what comes after: to memory that is a file, by renames, and
// with names of files.
func bePartner(dir string) error {
	f, err := tableFile(filepath.Join(dir, "4-memory"))
	if err != nil {
		return err
	}
	if err := f.Truncate(1 << 20); err != nil {
		return err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, err := strconv.ParseUint(in.Text(), 10, 64)
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint64(memory, n)
		if syncs() != 0 {
			if err := unix.Msync(memory, unix.MS_SYNC); err != nil {
				return err
			}
		}
		binary.BigEndian.PutUint64(memory[len(memory)-8:], n)
		if syncs() != 0 {
			if err := unix.Msync(memory, unix.MS_SYNC); err != nil {
				return err
			}
		}
		if err := partnerNames(dir, n); err != nil {
			return err
		}
		fmt.Println()
	}
	return nil
}

func partnerNames(dir string, n uint64) error {
	text := []byte(strconv.FormatUint(n, 10))
	if err := newFile(filepath.Join(dir, "5-new"), text); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, "5-new"), filepath.Join(dir, "5-current")); err != nil {
		return err
	}
	sub := filepath.Join(dir, "6-names")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		return err
	}
	// One that is removed may come again as something else.
	if err := os.Remove(filepath.Join(sub, fmt.Sprint(n-1))); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if n%2 == 0 {
		return os.Symlink("nowhere", filepath.Join(sub, fmt.Sprint(n)))
	}
	return newFile(filepath.Join(sub, fmt.Sprint(n)), text)
}

// startWriter starts one in a directory; it ends with the test.
func startWriter(t testing.TB, dir string) (pid int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "be-writer", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		family := freezer.FamilyOf(cmd.Process.Pid)
		for _, pid := range family {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = cmd.Wait()
		for _, pid := range family { // the partner has files open until it is gone
			for s := freezer.State(pid); s != 0 && s != 'Z'; s = freezer.State(pid) {
				time.Sleep(time.Millisecond)
			}
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the writer does not write: %q %v", line, err)
	}
	return cmd.Process.Pid
}

// checkWriter sees that a copy is of one moment, and says of which number.
func checkWriter(t testing.TB, dir string) uint64 {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(dir, "1-log"))
	must(t, err)
	if len(log)%8 != 0 {
		t.Fatalf("the log has %d bytes", len(log))
	}
	for i := 0; i < len(log); i += 8 {
		if n := binary.BigEndian.Uint64(log[i:]); n != uint64(i/8)+1 {
			t.Fatalf("number %d in the log is %d", i/8+1, n)
		}
	}
	got := []uint64{uint64(len(log) / 8)}
	for _, name := range []string{"2-left", "3-right"} {
		got = append(got, checkTable(t, filepath.Join(dir, name))...)
	}
	memory, err := os.ReadFile(filepath.Join(dir, "4-memory"))
	must(t, err)
	got = append(got, binary.BigEndian.Uint64(memory), binary.BigEndian.Uint64(memory[len(memory)-8:]))
	current, err := os.ReadFile(filepath.Join(dir, "5-current"))
	must(t, err)
	n, err := strconv.ParseUint(string(current), 10, 64)
	must(t, err)
	got = append(got, n)
	for i := 1; i < len(got); i++ {
		if got[i] > got[i-1] || got[i]+1 < got[0] {
			t.Fatalf("the copy is of several moments: %v", got)
		}
	}
	checkNames(t, dir, n)
	return n
}

// checkTable sees that all slots are what they were at one number, and gives it.
// The last that was written to may be half of the next.
func checkTable(t testing.TB, name string) []uint64 {
	t.Helper()
	table, err := os.ReadFile(name)
	must(t, err)
	var newest, oldest uint64
	for at := 0; at < len(table); at += slotSize {
		first := binary.BigEndian.Uint64(table[at:])
		last := binary.BigEndian.Uint64(table[min(at+slotSize, len(table))-8:])
		newest = max(newest, first, last)
	}
	oldest = newest
	for at := 0; at+slotSize <= len(table); at += slotSize {
		last := binary.BigEndian.Uint64(table[at+slotSize-8:])
		slot := uint64(at / slotSize)
		want := uint64(0)
		for n := newest; n > 0 && n+slots > newest; n-- {
			if n*7919%slots == slot {
				want = n
				break
			}
		}
		if last == want {
			continue
		}
		if want != newest {
			t.Fatalf("%s: slot %d has %d, not %d; the newest is %d", name, slot, last, want, newest)
		}
		oldest = newest - 1 // it is being written
	}
	return []uint64{newest, oldest}
}

func checkNames(t testing.TB, dir string, n uint64) {
	t.Helper()
	names, err := os.ReadDir(filepath.Join(dir, "6-names"))
	must(t, err)
	var all []string
	for _, e := range names {
		all = append(all, e.Name())
	}
	if got, a, b := strings.Join(all, " "), fmt.Sprint(n), fmt.Sprint(n-1); got != a && got != b && got != "" {
		t.Fatalf("at %d there are %q", n, got)
	}
}
