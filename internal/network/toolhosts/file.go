package toolhosts

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// How much is read of a file, looked at in a directory, and gone up.
const (
	mostText    = 64 << 10
	mostProgram = 1 << 20 // of a tool's own source
	mostEntries = 2048
	mostUp      = 64
)

// system is the path of a file of the system.
func (f *finder) system(path string) string { return filepath.Join(f.Root, path) }

// home is the path of a file in the user's home, empty if there is none.
func (f *finder) home(path string) string {
	if !filepath.IsAbs(f.Home) {
		return ""
	}
	return filepath.Join(f.Home, path)
}

// config is the path of a file in the user's XDG_CONFIG_HOME.
func (f *finder) config(path string) string {
	if dir := f.env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, path)
	}
	return f.home(filepath.Join(".config", path))
}

// upwards is the directory that the user works in and those above it, below
// their home. The home itself is not a project.
func (f *finder) upwards() []string {
	var all []string
	dir, home := filepath.Clean(f.Dir), filepath.Clean(f.Home)
	for filepath.IsAbs(dir) && dir != home && len(all) < mostUp {
		all = append(all, dir)
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return all
}

// read is a file's text, empty where there is none that can be read. A file
// that is too long is none: half of a line could name another host.
func read(file string, most int64) string {
	text, _ := readOwned(file, most)
	return text
}

// text is what a file says. One that came with a project counts only if the
// user has it there: in /tmp any user can put one above the work of others.
func text(file string, near bool) string {
	text, own := readOwned(file, mostText)
	if !near && !own {
		return ""
	}
	return text
}

// readOwned also says whether the file is the user's own, or root's.
func readOwned(file string, most int64) (text string, own bool) {
	if file == "" {
		return "", false
	}
	f, err := openPlain(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return "", false
	}
	var b strings.Builder
	b.Grow(int(info.Size()))
	if n, err := io.Copy(&b, io.LimitReader(f, most+1)); err != nil || n > most {
		return "", false
	}
	return b.String(), ownedByUser(info)
}

// list is the names in a directory, not more than a bound, in no order.
func list(dir string) []string {
	f, err := openDirectory(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(mostEntries)
	return names
}

// below lists the paths dir/NAME/rest for every name with a prefix. Several tools
// look into the same directories, and these can be long: each is read once.
func (f *finder) below(dir, prefix, rest string) []string {
	names, ok := f.lists[dir]
	if !ok {
		names = list(dir)
		f.lists[dir] = names
	}
	var all []string
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			all = append(all, filepath.Join(dir, name, rest))
		}
	}
	return all
}

// program is where a program that PATH names really is.
func (f *finder) program(name string) string {
	for _, dir := range filepath.SplitList(f.env["PATH"]) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(f.system(dir), name)
		if _, err := os.Lstat(file); err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(file); err == nil {
			return real
		}
	}
	return ""
}

// entry is a line of a file with sections, as npm, pip and git have them.
type entry struct{ section, key, value string }

// ini reads such a file. Keys and sections are in small letters, but for what
// a section has in quotes; lines that continue a value are values of its key.
func ini(text string) []entry {
	var all []entry
	section, key := "", ""
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		line = strings.TrimSpace(line)
		name, value, has := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section, key = sectionName(line[1:len(line)-1]), ""
		case has && !(indented && strings.Contains(name, "://")):
			key = strings.ToLower(strings.TrimSpace(name))
			all = append(all, entry{section, key, unquoted(value)})
		case indented && key != "":
			all = append(all, entry{section, key, unquoted(line)})
		}
	}
	return all
}

func sectionName(text string) string {
	kind, name, _ := strings.Cut(text, " ")
	return strings.TrimSpace(strings.ToLower(kind) + " " + unquoted(name))
}

func unquoted(value string) string {
	value = strings.TrimSpace(value)
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		return value[1 : len(value)-1]
	}
	return value
}
