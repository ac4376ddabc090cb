package cgroup

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

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
