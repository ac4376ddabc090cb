package oci

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/forkbox/forkbox"
)

// maxRecord bounds a file that lists packages: Debian with everything
// installed has 60 MB.
const maxRecord = 256 << 20

// Surroundings are what a root directory has that changes to it may rely on:
// the system and its packages. What cannot be read is left out. Of systems
// with rpm the packages are not known: its records are a database that only
// rpm reads.
func Surroundings(root string) forkbox.Surroundings {
	s := forkbox.Surroundings{Arch: runtime.GOARCH}
	for _, name := range []string{"etc/os-release", "usr/lib/os-release"} {
		if s.OS == "" {
			readRecord(root, name, func(r io.Reader) { s.OS = parseOSRelease(r) })
		}
	}
	readRecord(root, "var/lib/dpkg/status", func(r io.Reader) { s.Packages = parseDpkg(r, s.Arch) })
	for _, name := range []string{"lib/apk/db/installed", "usr/lib/apk/db/installed"} {
		if len(s.Packages) == 0 {
			readRecord(root, name, func(r io.Reader) { s.Packages = parseApk(r) })
		}
	}
	return s
}

// readRecord reads a file below a root that a stranger may have filled: no
// symlink leads out of it, a fifo does not block.
func readRecord(root, name string, read func(io.Reader)) {
	f, err := openRecord(root, name)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		read(io.LimitReader(f, maxRecord))
	}
}

func openRecord(root, name string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if root == "/" {
		// There is no out, and absolute symlinks mean what they say.
		return os.OpenFile("/"+name, flags, 0)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.OpenFile(name, flags, 0)
}

// parseOSRelease is "debian 12", or only the name where there is no version.
func parseOSRelease(r io.Reader) string {
	var id, version string
	eachLine(r, func(line string) {
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch key {
		case "ID":
			id = value
		case "VERSION_ID":
			version = value
		}
	})
	return strings.TrimSpace(id + " " + version)
}

// eachLine yields lines; of one that is longer than any of those that matter
// only the beginning.
func eachLine(r io.Reader, yield func(string)) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, more, err := br.ReadLine()
		if err != nil {
			return
		}
		text := string(line)
		for more && err == nil {
			_, more, err = br.ReadLine()
		}
		yield(text)
	}
}

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
