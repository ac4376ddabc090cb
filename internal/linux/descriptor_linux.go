package linux

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenForWriting reads, from its file in a process's fdinfo, how a descriptor was
// opened.
func OpenForWriting(info string) bool {
	text, err := os.ReadFile(info)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			flags = strings.TrimSpace(flags)
			// Octal; the last digit has the access mode.
			return flags != "" && (flags[len(flags)-1]-'0')&unix.O_ACCMODE != unix.O_RDONLY
		}
	}
	return false
}
