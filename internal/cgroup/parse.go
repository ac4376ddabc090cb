package cgroup

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// keyed finds a number in a file of lines "key value": memory.events, cpu.stat.
// It is 0 if there is none.
func keyed(text, key string) int64 {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, " ")
		if name == key {
			v, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return v
		}
	}
	return 0
}

// number reads a file of one number. The kernel says "max" in version 2, and a
// number that no machine reaches in version 1, for no limit.
func number(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if text == "max" {
		return forkbox.Unlimited, true
	}
	v, err := strconv.ParseUint(text, 10, 64)
	switch {
	case text == "-1", err == nil && v >= 1<<62:
		return forkbox.Unlimited, true
	case err != nil:
		return 0, false
	}
	return int64(v), true
}

// numbers reads a list of process ids.
func numbers(text string) (list []int) {
	for _, word := range strings.Fields(text) {
		if n, err := strconv.Atoi(word); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	return list
}

// ioStat reads version 2's io.stat or io.max: by device, values by key. Those
// that are "max" are left out.
func ioStat(text string) map[string]map[string]int64 {
	devices := map[string]map[string]int64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !isDevice(fields[0]) {
			continue
		}
		values := map[string]int64{}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			if v, err := strconv.ParseInt(value, 10, 64); err == nil {
				values[key] = v
			}
		}
		devices[fields[0]] = values
	}
	return devices
}

// perDevice reads version 1's lines "8:0 Read 4096" or "8:0 4096" of one
// direction; word is "" for the latter.
func perDevice(text, word string) map[string]int64 {
	devices := map[string]int64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[1] == word && word != "" {
			fields = []string{fields[0], fields[2]}
		} else if len(fields) != 2 || word != "" {
			continue
		}
		if v, err := strconv.ParseInt(fields[1], 10, 64); err == nil && isDevice(fields[0]) {
			devices[fields[0]] = v
		}
	}
	return devices
}

// isDevice says whether a word is MAJOR:MINOR.
func isDevice(word string) bool {
	major, minor, ok := strings.Cut(word, ":")
	_, err1 := strconv.ParseUint(major, 10, 32)
	_, err2 := strconv.ParseUint(minor, 10, 32)
	return ok && err1 == nil && err2 == nil
}

// pressure reads lines like "some avg10=0.12 avg60=0.00 avg300=0.00 total=7".
// The line "full" is missing from cpu.pressure of older kernels.
func pressure(text string) (p forkbox.Pressure, ok bool) {
	to := map[string]*float64{
		"some avg10": &p.Some10, "some avg60": &p.Some60, "some avg300": &p.Some300,
		"full avg10": &p.Full10, "full avg60": &p.Full60, "full avg300": &p.Full300,
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		for i := 1; i < len(fields); i++ {
			key, value, _ := strings.Cut(fields[i], "=")
			field := to[fields[0]+" "+key]
			if v, err := strconv.ParseFloat(value, 64); err == nil && field != nil && v >= 0 && v <= 100 {
				*field, ok = v, true
			}
		}
	}
	return p, ok
}

// mount is a line of /proc/PID/mountinfo.
type mount struct {
	root   string // what of the filesystem is mounted
	point  string // where
	kind   string // "cgroup", "cgroup2", "ext4"
	source string
	super  []string // options of the filesystem: a version 1 hierarchy's controllers
}

// parseMounts reads mountinfo. Lines that are not understood are left out.
func parseMounts(text string) (list []mount) {
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 6 || len(right) < 3 {
			continue
		}
		list = append(list, mount{
			root: unescape(left[3]), point: unescape(left[4]),
			kind: right[0], source: unescape(right[1]), super: strings.Split(right[2], ","),
		})
	}
	return list
}

// unescape undoes \040 and the like, which the kernel writes for white space
// and backslashes in names.
func unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if v, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// membership is a line of /proc/PID/cgroup: the group of a process in one
// hierarchy.
type membership struct {
	controllers []string // none for version 2
	path        string
}

func parseMembership(text string) (list []membership) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || !path.IsAbs(parts[2]) {
			continue
		}
		m := membership{path: parts[2]}
		if parts[1] != "" {
			m.controllers = strings.Split(parts[1], ",")
		}
		list = append(list, m)
	}
	return list
}

// groupOf is the path of a process's group in the hierarchy of a controller;
// of version 2 if that is "".
func groupOf(list []membership, controller string) (string, bool) {
	for _, m := range list {
		if controller == "" && len(m.controllers) == 0 || slices.Contains(m.controllers, controller) {
			return m.path, true
		}
	}
	return "", false
}

// below is the directory of a group as this mount shows it. A container may
// see only a part of a hierarchy, and its own group may be outside of that.
func (m mount) below(group string) (string, bool) {
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !ok || rest != "" && rest[0] != '/' || slices.Contains(strings.Split(rest, "/"), "..") {
		return "", false
	}
	return path.Join(m.point, rest), true
}

// ours finds in the path of a group the directory that is ours and the box
// below it: "/a/NAME/B/x/1" is "/a/NAME" and "B".
func ours(group, name string) (base, id string, ok bool) {
	parts := strings.Split(group, "/")
	at := slices.Index(parts, name)
	if at < 0 || at+1 >= len(parts) || !validID(parts[at+1]) {
		return "", "", false
	}
	return strings.Join(parts[:at+1], "/"), parts[at+1], true
}

// validID refuses what cannot be a directory beside the kernel's own files,
// all of which have a dot in their names or are called "tasks" or
// "notify_on_release".
func validID(id string) bool {
	for _, c := range []byte(id) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return id != "" && len(id) <= 128 && !slices.Contains([]string{"tasks", "notify_on_release", "release_agent"}, id)
}
