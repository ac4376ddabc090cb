package oci

import (
	"io"
	"strings"
)

// stanza is what one paragraph of a list of packages says.
type stanza struct{ name, version, arch, status string }

// debianArchs are Debian's names where they are not Go's.
var debianArchs = map[string]string{"386": "i386", "arm": "armhf", "ppc64le": "ppc64el", "mips64le": "mips64el"}

// parseDpkg reads which packages are installed. One of another architecture
// than the machine's has it behind its name, as dpkg writes it.
func parseDpkg(r io.Reader, arch string) map[string]string {
	if name, ok := debianArchs[arch]; ok {
		arch = name
	}
	packages := map[string]string{}
	var s stanza
	keep := func() {
		if s.name != "" && strings.HasSuffix(s.status, " installed") {
			if s.arch != "" && s.arch != "all" && s.arch != arch {
				s.name += ":" + s.arch
			}
			packages[s.name] = s.version
		}
		s = stanza{}
	}
	eachLine(r, func(line string) {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "":
			keep()
		case "Package":
			s.name = value
		case "Version":
			s.version = value
		case "Architecture":
			s.arch = value
		case "Status":
			s.status = value
		}
	})
	keep()
	return packages
}

// parseApk reads Alpine's list.
func parseApk(r io.Reader) map[string]string {
	packages := map[string]string{}
	var s stanza
	keep := func() {
		if s.name != "" {
			packages[s.name] = s.version
		}
		s = stanza{}
	}
	eachLine(r, func(line string) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "":
			keep()
		case "P":
			s.name = value
		case "V":
			s.version = value
		}
	})
	keep()
	return packages
}
