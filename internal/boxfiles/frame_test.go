package boxfiles

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// pipe is a connection whose input is known beforehand.
type pipe struct {
	io.Reader
	io.Writer
}

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	var wire bytes.Buffer
	out := NewFrames(pipe{nil, &wire})
	bodies := []string{"", "x", strings.Repeat("y", DataFrame), strings.Repeat("z", MaxFrame)}
	for _, body := range bodies {
		if err := out.Put(Data, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Put(Data, make([]byte, MaxFrame+1)); err == nil {
		t.Error("a frame over the bound was sent")
	}
	in := NewFrames(pipe{&wire, nil})
	for _, want := range bodies {
		kind, body, err := in.Next()
		if err != nil || kind != Data || string(body) != want {
			t.Fatalf("got %q with %d bytes, %v", kind, len(body), err)
		}
	}
	if _, _, err := in.Next(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
}

func TestFramesRefuseWhatIsNone(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"of an unknown kind": "?\x00\x00\x00\x00",
		"too large":          "d\xff\xff\xff\xff",
		"cut in its head":    "d\x00\x00",
		"cut in its body":    "d\x00\x00\x00\x05ab",
	} {
		if _, _, err := NewFrames(pipe{strings.NewReader(raw), nil}).Next(); err == nil || err == io.EOF {
			t.Errorf("a frame that is %s: %v", name, err)
		}
	}
}

// FuzzFrames: whatever an agent sends, Next returns, and holds no more than a frame.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("d\x00\x00\x00\x02abe\x00\x00\x00\x02{}"))
	f.Add([]byte("m\x00\x10\x00\x00"))
	f.Add([]byte("a\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := NewFrames(pipe{bytes.NewReader(raw), nil})
		for read := 0; ; {
			_, body, err := in.Next()
			if err != nil {
				return
			}
			if read += headSize + len(body); read > len(raw) || len(body) > MaxFrame {
				t.Fatalf("%d bytes were read of %d", read, len(raw))
			}
		}
	})
}
