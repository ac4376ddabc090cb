package toolhosts

import (
	"path/filepath"
	"strings"
)

// golang looks where go does: the environment, what `go env -w` wrote, and the
// file in GOROOT that has the defaults. Each variable counts by itself.
func golang(f *finder) {
	files := append([]string{f.goEnvFile()}, f.goRoots()...)
	for _, name := range []string{"GOPROXY", "GOSUMDB"} {
		if value := f.env[name]; value != "" {
			f.goHosts(name, value, source{"go", name, true})
			continue
		}
		for _, file := range files {
			if value := assigned(read(file, mostText), name); value != "" {
				f.goHosts(name, value, source{"go", file, true})
				break
			}
		}
	}
}

func (f *finder) goEnvFile() string {
	switch file := f.env["GOENV"]; {
	case file == "off":
		return ""
	case filepath.IsAbs(file):
		return file
	}
	return f.config("go/env")
}

func (f *finder) goRoots() []string {
	var roots []string
	if root := f.env["GOROOT"]; filepath.IsAbs(root) {
		roots = append(roots, f.system(root))
	}
	if bin := f.program("go"); bin != "" {
		roots = append(roots, filepath.Dir(filepath.Dir(bin)))
	}
	roots = append(roots, f.system("/usr/local/go"), f.system("/usr/lib/go"))
	roots = append(roots, f.below(f.system("/usr/lib"), "go-", "")...)
	for i := range roots {
		roots[i] = filepath.Join(roots[i], "go.env")
	}
	return roots
}

// assigned is the value of NAME=value in a file of such lines.
func assigned(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return unquoted(value)
		}
	}
	return ""
}

func (f *finder) goHosts(name, value string, from source) {
	if name == "GOSUMDB" {
		f.add(from, sumURL(value))
		return
	}
	for _, url := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '|' }) {
		f.add(from, strings.TrimSpace(url)) // "direct" and "off" are no URLs
	}
}

// sumURL is where a checksum database is: "name", "name+key", or "name+key URL".
func sumURL(value string) string {
	fields := strings.Fields(value)
	switch {
	case len(fields) == 0 || fields[0] == "off":
		return ""
	case len(fields) > 1:
		return fields[1]
	}
	name, _, _ := strings.Cut(fields[0], "+")
	return "https://" + name
}
