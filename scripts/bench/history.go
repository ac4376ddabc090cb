package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// release is one line of the history: how long the short cases took, as
// multiples of bubblewrap's time in the same run. Ratios outlive the machine
// they were measured on; milliseconds do not.
type release struct {
	Version string             `json:"version"`
	Date    string             `json:"date"`
	Machine machine            `json:"machine"`
	Ratios  map[string]float64 `json:"ratios_to_bwrap"`
}

// machine is what a reader has to know of where it was measured. It has no
// names: the history is public.
type machine struct {
	Arch   string `json:"arch"`
	Kernel string `json:"kernel"` // major.minor
	CPUs   int    `json:"cpus"`
	Memory int    `json:"memory_gib"`
}

// tolerance is how much slower a case may be before a comparison fails.
const tolerance = 1.1

// newRelease takes the ratios out of a report, rounded to what a run can tell.
func newRelease(version string, r *report) (release, error) {
	here, err := thisMachine()
	made := release{Version: version, Date: time.Now().UTC().Format(time.DateOnly), Machine: here, Ratios: map[string]float64{}}
	for _, row := range r.Rows {
		if row.Ratio > 0 && row.Name != caseBwrap && row.Name != caseBare {
			made.Ratios[row.Name] = math.Round(row.Ratio*100) / 100
		}
	}
	if len(made.Ratios) == 0 {
		return release{}, errors.New("cannot compare with bubblewrap: bwrap is not installed, or -only left it out")
	}
	return made, err
}

func thisMachine() (machine, error) {
	version, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return machine{}, err
	}
	parts := strings.SplitN(string(version), ".", 3)
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return machine{}, err
	}
	var kib float64
	if _, err := fmt.Sscanf(string(info), "MemTotal: %f kB", &kib); err != nil {
		return machine{}, fmt.Errorf("cannot read /proc/meminfo: %w", err)
	}
	return machine{
		Arch:   runtime.GOARCH,
		Kernel: strings.Join(parts[:min(2, len(parts))], "."),
		CPUs:   runtime.NumCPU(),
		Memory: int(math.Round(kib / (1 << 20))),
	}, nil
}

// recordRelease adds a line to the history.
func recordRelease(path string, now release) error {
	line, err := json.Marshal(now)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// lastRelease reads the last line of the history.
func lastRelease(path string) (last release, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return last, err
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	dec := json.NewDecoder(bytes.NewReader(lines[len(lines)-1]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&last); err != nil {
		return last, fmt.Errorf("cannot read the last line of %s: %w", path, err)
	}
	return last, nil
}

// compareReleases prints both, case by case, and fails where one is slower by
// more than a tenth, or was not measured this time.
func compareReleases(w io.Writer, last, now release) error {
	fmt.Fprintf(w, "× bwrap, beside %s of %s\n", last.Version, last.Date)
	if last.Machine != now.Machine {
		fmt.Fprintf(w, "note: that was measured on another machine: %+v, this is %+v\n", last.Machine, now.Machine)
	}
	var worse []string
	for _, name := range slices.Sorted(maps.Keys(last.Ratios)) {
		then, have := last.Ratios[name], now.Ratios[name]
		verdict := ""
		switch {
		case have == 0:
			verdict = "NOT MEASURED"
		case have > then*tolerance:
			verdict = "SLOWER"
		}
		if verdict != "" {
			worse = append(worse, name)
		}
		fmt.Fprintf(w, "%6.2f → %6.2f  %s  %s\n", then, have, name, verdict)
	}
	if len(worse) > 0 {
		return fmt.Errorf("slower than %s by more than a tenth, or not measured: %s", last.Version, strings.Join(worse, "; "))
	}
	return nil
}
