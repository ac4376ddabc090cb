package forkbox

import "io/fs"

// ModeText is a mode as ls -l shows it: -rwxr-sr-x.
func ModeText(m fs.FileMode) string {
	text := []byte("-rwxrwxrwx")
	for i := range 9 {
		if m&(1<<(8-i)) == 0 {
			text[1+i] = '-'
		}
	}
	for _, kind := range []struct {
		mode fs.FileMode
		char byte
	}{
		{fs.ModeDir, 'd'}, {fs.ModeSymlink, 'l'}, {fs.ModeNamedPipe, 'p'}, {fs.ModeSocket, 's'},
		{fs.ModeDevice, 'b'}, {fs.ModeCharDevice, 'c'}, // which is a device, too
	} {
		if m&kind.mode != 0 {
			text[0] = kind.char
		}
	}
	special := func(bit fs.FileMode, at int, with, without byte) {
		switch {
		case m&bit == 0:
		case text[at] == 'x':
			text[at] = with
		default:
			text[at] = without
		}
	}
	special(fs.ModeSetuid, 3, 's', 'S')
	special(fs.ModeSetgid, 6, 's', 'S')
	special(fs.ModeSticky, 9, 't', 'T')
	return string(text)
}
