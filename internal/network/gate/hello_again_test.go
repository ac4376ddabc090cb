//go:build linux

package gate

import (
	"bytes"
	"crypto/tls"
	"errors"
	"slices"
	"testing"

	"github.com/forkbox/forkbox/internal/network/tlshello"
)

const (
	cipherRecord = "\x14\x03\x03\x00\x01\x01"
	alertRecord  = "\x15\x03\x03\x00\x02\x01\x5a"
	dataRecord   = "\x17\x03\x03\x00\x05.data"
	finished12   = "\x16\x03\x03\x00\x28\x00\x00\x00\x00\x00\x00\x00\x00.encrypted......................"
	keys12       = "\x16\x03\x03\x00\x07\x10\x00\x00\x03\x02ab"
)

// likeHello is an encrypted message that begins as a ClientHello does: one in 256
// does, with most ciphers.
const likeHello = "\x16\x03\x03\x00\x20\x01\xa5\x20\x77.encrypted.................."

// withEarlyData adds an extension to the end of a hello.
func withEarlyData(hello []byte) []byte {
	out := append(bytes.Clone(hello), 0, tlshello.ExtEarlyData, 0, 0)
	for _, at := range []int{3, 7, extensionsAt(out)} {
		n := (int(out[at])<<8 | int(out[at+1])) + 4
		out[at], out[at+1] = byte(n>>8), byte(n)
	}
	return out
}

// extensionsAt is where a hello has the length of all its extensions: behind
// session, suites and compression.
func extensionsAt(hello []byte) int {
	p := 9 + 34
	p += 1 + int(hello[p])
	p += 2 + (int(hello[p])<<8 | int(hello[p+1]))
	return p + 1 + int(hello[p])
}

// follow gives bytes to a handshake in pieces of some size.
func follow(h *handshake, data []byte, size int) error {
	for piece := range slices.Chunk(data, size) {
		if err := h.look(piece); err != nil {
			return err
		}
	}
	return nil
}

func TestHandshakeIsFollowed(t *testing.T) {
	good := hello(t, &tls.Config{ServerName: "good.example"})
	evil := hello(t, &tls.Config{ServerName: "evil.example"})
	none := hello(t, &tls.Config{})
	early := withEarlyData(good)
	oneRecord := split(join(nil, good, evil[5:]), 16384)
	parted := split(evil, 100)
	for what, c := range map[string]struct {
		data []byte
		err  error
		over bool
	}{
		"the first only":               {join(nil, good), nil, false},
		"the same again":               {join(good, good), nil, false},
		"the same behind a cipher":     {join(good, cipherRecord, good), nil, false},
		"the same in parts":            {join(good, split(good, 1)), nil, false},
		"the same, then data":          {join(good, cipherRecord, good, dataRecord), nil, true},
		"1.3":                          {join(good, cipherRecord, dataRecord, evil), nil, true},
		"1.2":                          {join(good, keys12, cipherRecord, finished12, evil), nil, true},
		"1.2 resumed":                  {join(good, cipherRecord, finished12), nil, true},
		"1.2 not finished":             {join(good, keys12, cipherRecord), nil, false},
		"1.2 like a hello":             {join(good, keys12, cipherRecord, likeHello), nil, false},
		"1.2 like a hello, then data":  {join(good, keys12, cipherRecord, likeHello, dataRecord), nil, true},
		"another":                      {join(good, evil), errOther, false},
		"another in parts":             {join(good, parted), errOther, false},
		"another, byte by byte":        {join(good, split(evil, 1)), errOther, false},
		"another in the same record":   {oneRecord, errOther, false},
		"another behind a cipher":      {join(good, cipherRecord, evil), errOther, false},
		"another behind two":           {join(good, cipherRecord, cipherRecord, split(evil, 1)), errOther, false},
		"another around a cipher":      {join(good, parted[:105], cipherRecord, parted[105:]), errOther, false},
		"another around an alert":      {join(good, parted[:105], alertRecord, parted[105:]), errOther, false},
		"another behind keys":          {join(good, keys12, evil), errOther, false},
		"another behind an empty one":  {join(good, cipherRecord, "\x16\x03\x03\x00\x00", evil), errOther, false},
		"another, the third":           {join(good, good, evil), errOther, false},
		"none":                         {join(good, none), errOther, false},
		"another behind early data":    {join(early, cipherRecord, dataRecord, dataRecord, evil), errOther, false},
		"the same behind early data":   {join(early, cipherRecord, dataRecord, good), nil, false},
		"the same, then data, another": {join(early, dataRecord, good, dataRecord, evil), nil, true},
		"much early data":              {join(early, bytes.Repeat([]byte(dataRecord), peekMost)), nil, false},
		"a malformed one":              {join(good, "\x16\x03\x03\x00\x05\x01\x00\x00\x01a"), tlshello.ErrHello, false},
		"no record":                    {join(good, "\x80\x2e\x01\x03\x01"), tlshello.ErrRecord, false},
		"alerts without end":           {join(good, bytes.Repeat([]byte(alertRecord), peekMost/7+1)), errLong, false},
		"a message without end":        {join(good, split(join(nil, ".....\x01\x02\x00\x00", make([]byte, peekMost)), 16384)), errLong, false},
	} {
		for _, size := range []int{1, 2, 5, 7, 100, 1 << 20} {
			h := &handshake{name: "good.example"}
			if err := follow(h, c.data, size); !errors.Is(err, c.err) || h.over != c.over {
				t.Errorf("%s, in pieces of %d: %v, over is %v", what, size, err, h.over)
			}
		}
	}
}

// join puts together bytes and texts.
func join(parts ...any) []byte {
	var out []byte
	for _, part := range parts {
		switch part := part.(type) {
		case []byte:
			out = append(out, part...)
		case string:
			out = append(out, part...)
		}
	}
	return out
}

// FuzzHandshake: how a stream is cut makes no difference.
func FuzzHandshake(f *testing.F) {
	good := hello(f, &tls.Config{ServerName: "good.example"})
	for _, rest := range []string{cipherRecord, cipherRecord + finished12, keys12, dataRecord, likeHello, "\x16\x03"} {
		f.Add([]byte(rest), 3)
	}
	f.Add(good, 11)
	f.Fuzz(func(t *testing.T, rest []byte, size int) {
		stream := join(good, rest)
		once, cut := &handshake{name: "good.example"}, &handshake{name: "good.example"}
		err, errCut := once.look(stream), follow(cut, stream, max(size, 1))
		if !errors.Is(errCut, err) || once.over != cut.over || once.said != cut.said {
			t.Errorf("at once %v, %+v; in pieces of %d %v, %+v", err, once, size, errCut, cut)
		}
	})
}
