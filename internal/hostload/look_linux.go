package hostload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// source is where the kernel tells: the files below root. It is / but in
// tests, which have hosts made of files.
type source struct{ root string }

func look(storePath string) (Load, error) {
	load, err := source{"/"}.memory()
	if err != nil {
		return Load{}, unreadable(err)
	}
	load.CPUs = runtime.NumCPU()
	if load.Pressure, err = (source{"/"}).pressure(); err != nil {
		return Load{}, unreadable(err)
	}
	return load, load.disk(storePath)
}

func unreadable(err error) error {
	return forkbox.Errorf(forkbox.Internal, "read the load of the host", "%w", err)
}

// disk counts what is free for all users: root's own share is the host's, and
// no box should live off it.
func (l *Load) disk(path string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return unreadable(&os.PathError{Op: "statfs", Path: path, Err: err})
	}
	block := int64(st.Bsize) // its type differs between processors
	l.DiskFree = int64(st.Bavail) * block
	l.DiskTotal = int64(st.Blocks-st.Bfree+st.Bavail) * block
	l.InodesTotal, l.InodesFree = int64(st.Files), int64(st.Ffree)
	return nil
}

func (s source) memory() (Load, error) {
	fields, err := s.meminfo()
	if err != nil {
		return Load{}, err
	}
	l := Load{MemTotal: fields["MemTotal"], MemAvailable: fields["MemAvailable"]}
	if l.MemTotal <= 0 {
		return Load{}, fmt.Errorf("/proc/meminfo does not say how much memory there is")
	}
	for _, limit := range s.limits() {
		l.MemTotal = min(l.MemTotal, limit.most)
		l.MemAvailable = min(l.MemAvailable, limit.available())
	}
	return l, nil
}

func (s source) meminfo() (map[string]int64, error) {
	raw, err := s.file("proc/meminfo")
	if err != nil {
		return nil, err
	}
	fields := map[string]int64{}
	for line := range strings.Lines(raw) {
		name, rest, _ := strings.Cut(line, ":")
		number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if kib, err := strconv.ParseInt(number, 10, 64); err == nil {
			fields[name] = kib << 10
		}
	}
	return fields, nil
}

func (s source) file(path ...string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(append([]string{s.root}, path...)...))
	return string(raw), err
}

// pressure is nil on a kernel that was built without it or, with psi=0, told
// not to measure it.
func (s source) pressure() (map[string]forkbox.Pressure, error) {
	var all map[string]forkbox.Pressure
	for _, what := range []string{"cpu", "memory", "io"} {
		raw, err := s.file("proc/pressure", what)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, fs.ErrPermission):
			continue
		case err != nil:
			return nil, err
		}
		p, err := parsePressure(raw)
		if err != nil {
			return nil, fmt.Errorf("/proc/pressure/%s: %w", what, err)
		}
		if all == nil {
			all = map[string]forkbox.Pressure{}
		}
		all[what] = p
	}
	return all, nil
}

// parsePressure reads "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" and the
// same of "full", which kernels before 5.13 do not have for cpu.
func parsePressure(raw string) (forkbox.Pressure, error) {
	var p forkbox.Pressure
	averages := map[string]*float64{
		"some avg10": &p.Some10, "some avg60": &p.Some60, "some avg300": &p.Some300,
		"full avg10": &p.Full10, "full avg60": &p.Full60, "full avg300": &p.Full300,
	}
	seen := 0
	for line := range strings.Lines(raw) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, word := range strings.Fields(rest) {
			key, text, _ := strings.Cut(word, "=")
			into, known := averages[kind+" "+key]
			if !known {
				continue
			}
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return p, err
			}
			*into = v
			seen++
		}
	}
	if seen == 0 {
		return p, errors.New("it has no averages")
	}
	return p, nil
}
