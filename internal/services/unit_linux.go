package services

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unit is what systemd's files say of a service: what cannot be read off its
// process. Nothing is asked of systemd, and nothing is told to it.
type unit struct {
	start    []string // the command, if it is one
	env      []string
	dirs     []string // that are made for it below /run
	watchdog time.Duration
}

// unitDirs are where the files of units lie, those that count first. %h is the home
// of who runs the service.
var unitDirs = []string{
	"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
	"%h/.config/systemd/user", "/etc/systemd/user", "/run/systemd/user", "/usr/lib/systemd/user",
}

// readUnit reads the files of a unit below a root directory, "/" but for tests: the
// file and then its drop-ins, by name. What is not there says nothing.
func readUnit(root, name, home string) (u unit) {
	if name == "" || strings.Contains(name, "/") {
		return u
	}
	names := []string{name}
	instance := ""
	if base, rest, is := strings.Cut(strings.TrimSuffix(name, ".service"), "@"); is {
		instance = rest
		names = append(names, base+"@.service")
	}
	dirs := make([]string, len(unitDirs))
	for i, dir := range unitDirs {
		dirs[i] = filepath.Join(root, strings.ReplaceAll(dir, "%h", home))
	}
	for _, file := range unitFiles(dirs, names) {
		if text, err := os.ReadFile(file); err == nil {
			u.read(text, specifiers(name, instance, home))
		}
	}
	return u
}

// unitFiles are the file of a unit, and its drop-ins in the order that they count
// in: of two of one name the first directory's.
func unitFiles(dirs, names []string) (files []string) {
	for _, name := range names {
		if i := slices.IndexFunc(dirs, func(dir string) bool { return exists(filepath.Join(dir, name)) }); i >= 0 {
			files = append(files, filepath.Join(dirs[i], name))
			break
		}
	}
	dropIns := map[string]string{}
	for _, name := range names {
		for _, dir := range dirs {
			found, _ := filepath.Glob(filepath.Join(dir, name+".d", "*.conf"))
			for _, file := range found {
				if base := filepath.Base(file); dropIns[base] == "" {
					dropIns[base] = file
				}
			}
		}
	}
	var bases []string
	for base := range dropIns {
		bases = append(bases, base)
	}
	slices.Sort(bases)
	for _, base := range bases {
		files = append(files, dropIns[base])
	}
	return files
}

func specifiers(name, instance, home string) *strings.Replacer {
	return strings.NewReplacer("%%", "%", "%i", instance, "%I", strings.ReplaceAll(instance, "-", "/"), "%n", name, "%h", home, "%t", "/run")
}

// read takes what one file says. An empty value takes back what was said before.
func (u *unit) read(text []byte, words *strings.Replacer) {
	text = bytes.ReplaceAll(text, []byte("\\\n"), []byte(" "))
	section := ""
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		line := strings.TrimSpace(in.Text())
		if strings.HasPrefix(line, "[") {
			section = line
		}
		key, value, is := strings.Cut(line, "=")
		if section == "[Service]" && is && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
			u.set(strings.TrimSpace(key), words.Replace(strings.TrimSpace(value)))
		}
	}
}

func (u *unit) set(key, value string) {
	switch key {
	case "ExecStart":
		// What stands before the program says how systemd runs it.
		u.start = unquote(strings.TrimLeft(value, "@-:+!"))
		if strings.HasPrefix(value, "@") && len(u.start) > 1 { // a name for itself comes second
			u.start = slices.Delete(u.start, 1, 2)
		}
	case "Environment":
		u.env = extend(u.env, value)
	case "RuntimeDirectory":
		u.dirs = extend(u.dirs, value)
	case "WatchdogSec":
		u.watchdog = unitSpan(value)
	}
}

func extend(list []string, value string) []string {
	if value == "" {
		return nil
	}
	return append(list, unquote(value)...)
}

// unquote takes words apart as systemd does, which may be in quotes.
func unquote(line string) (words []string) {
	var word strings.Builder
	quote, in := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, in = r, true
		case r == ' ' || r == '\t':
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words
}

// unitSpan reads a time as systemd writes it: "30", "1min 30s", "500ms". One that
// cannot be read is taken for a second: better not stopped than ended.
func unitSpan(value string) (sum time.Duration) {
	units := []struct {
		name string
		is   time.Duration
	}{{"min", time.Minute}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"sec", time.Second}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"", time.Second}}
	for _, word := range strings.Fields(value) {
		if word == "infinity" {
			return 0
		}
		for _, u := range units {
			number, is := strings.CutSuffix(word, u.name)
			if !is {
				continue
			}
			n, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return time.Second
			}
			sum += time.Duration(n * float64(u.is))
			break
		}
	}
	return sum
}
