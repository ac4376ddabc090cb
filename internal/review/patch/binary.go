package patch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
)

// Binary says whether content is binary, as git has it: whether there is a NUL
// in the first 8000 bytes.
func Binary(content []byte) bool {
	const looked = 8000
	return bytes.IndexByte(content[:min(len(content), looked)], 0) >= 0
}

const (
	binaryHeader = "GIT binary patch\n"
	// lineBytes is how many bytes a line of a binary patch holds at most.
	lineBytes = 52
	digits85  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)

// literals writes both versions whole, so that the patch can be reversed.
func (s *section) literals() {
	s.out.WriteString(binaryHeader)
	writeLiteral(s.out, s.New)
	writeLiteral(s.out, s.Old)
}

func writeLiteral(out *bytes.Buffer, content []byte) {
	fmt.Fprintf(out, "literal %d\n", len(content))
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(content) // a bytes.Buffer takes everything
	z.Close()
	for packed.Len() > 0 {
		encode85(out, packed.Next(lineBytes))
	}
	out.WriteByte('\n')
}

// encode85 writes one line: a letter for the number of bytes, then five digits
// for every four bytes.
func encode85(out *bytes.Buffer, line []byte) {
	if n := byte(len(line)); n <= 26 {
		out.WriteByte('A' + n - 1)
	} else {
		out.WriteByte('a' + n - 27)
	}
	for len(line) > 0 {
		var word [4]byte
		line = line[copy(word[:], line):]
		n := binary.BigEndian.Uint32(word[:])
		var digits [5]byte
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i], n = digits85[n%85], n/85
		}
		out.Write(digits[:])
	}
	out.WriteByte('\n')
}
