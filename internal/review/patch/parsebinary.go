package patch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// BinaryContent is one direction of a binary patch.
type BinaryContent struct {
	// Delta marks what git writes where it is shorter: a recipe to make this
	// version out of the other, not the version itself.
	Delta bool
	// Size is of the content, or of the recipe.
	Size   int64
	packed []byte
}

// Unpack is the content, or the recipe. It is not done by [Parse], because a
// small patch can hold content a thousand times larger.
func (b *BinaryContent) Unpack() ([]byte, error) {
	const op = "unpack binary patch"
	z, err := zlib.NewReader(bytes.NewReader(b.packed))
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	content, err := io.ReadAll(io.LimitReader(z, b.Size+1))
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	if int64(len(content)) != b.Size {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "it does not have the %d bytes that it promises", b.Size)
	}
	return content, nil
}

func (f *fileParser) binaryBody() (err error) {
	f.next()
	if f.Forward, err = f.binaryContent(); err != nil {
		return err
	}
	if f.Forward == nil {
		return f.errorf("binary content was expected")
	}
	f.Reverse, err = f.binaryContent() // may be left out
	return err
}

// binaryContent is nil where there is none.
func (f *fileParser) binaryContent() (*BinaryContent, error) {
	at := *f.parser
	content := new(BinaryContent)
	size, ok := f.accept("literal ")
	if !ok {
		size, content.Delta = f.accept("delta ")
	}
	if !ok && !content.Delta {
		return nil, nil
	}
	n, err := strconv.ParseInt(size, 10, 62)
	if err != nil || n < 0 {
		*f.parser = at
		return nil, f.errorf("%q is not a size", size)
	}
	content.Size = n
	for {
		line := f.peek()
		if string(line) == "\n" {
			f.next()
			return content, nil
		}
		if content.packed, ok = decode85(content.packed, line); !ok {
			return nil, f.errorf("%q is not a line of binary content", line)
		}
		f.next()
	}
}

// decode85 appends what one line of a binary patch holds.
func decode85(to, line []byte) ([]byte, bool) {
	if len(line) < 2 || line[len(line)-1] != '\n' {
		return to, false
	}
	n, digits := 0, line[1:len(line)-1]
	switch c := line[0]; {
	case 'A' <= c && c <= 'Z':
		n = int(c-'A') + 1
	case 'a' <= c && c <= 'z':
		n = int(c-'a') + 27
	}
	if n == 0 || len(digits) != (n+3)/4*5 {
		return to, false
	}
	var plain []byte
	for ; len(digits) > 0; digits = digits[5:] {
		word, ok := decodeWord(digits[:5])
		if !ok {
			return to, false
		}
		plain = binary.BigEndian.AppendUint32(plain, word)
	}
	return append(to, plain[:n]...), true
}

func decodeWord(digits []byte) (uint32, bool) {
	var n uint64
	for _, c := range digits {
		value := strings.IndexByte(digits85, c)
		if value < 0 {
			return 0, false
		}
		n = n*85 + uint64(value)
	}
	return uint32(n), n < 1<<32
}
