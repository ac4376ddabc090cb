package toolhosts

import "strings"

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
