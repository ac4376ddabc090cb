package hostload

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

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
