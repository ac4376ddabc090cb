package intercept

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// scrubbed is what a body becomes, read in pieces of the given sizes.
func scrubbed(t testing.TB, secrets []Secret, body []byte, sizes []int) string {
	t.Helper()
	var ended int
	s := &scrubber{from: io.NopCloser(&pieces{body, sizes}), look: newPatterns(secrets), ended: func() { ended++ }}
	out, err := io.ReadAll(s)
	must(t, err)
	must(t, s.Close())
	if ended == 0 {
		t.Fatal("nobody was told of the end")
	}
	return string(out)
}

// pieces reads as a network does.
type pieces struct {
	data  []byte
	sizes []int
}

func (p *pieces) Read(b []byte) (int, error) {
	size := len(p.data)
	if len(p.sizes) > 0 {
		size, p.sizes = min(size, p.sizes[0]), p.sizes[1:]
	}
	n := copy(b, p.data[:size])
	p.data = p.data[n:]
	if len(p.data) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// betray says which form of a value is left between the placeholders. Those are
// taken out first: one can have a short value in it by chance.
func betray(out string, secrets []Secret) string {
	for _, s := range secrets {
		out = strings.ReplaceAll(out, s.Placeholder, "\x00")
	}
	for _, s := range secrets {
		for _, form := range forms(s.Value) {
			if strings.Contains(out, string(form)) {
				return string(form)
			}
		}
	}
	return ""
}

// However a body is cut, no value is in what comes out, and what comes out is the
// same; and what has no value in it is not touched.
func TestNoValueComesThrough(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]byte("ab/\"+ <é\xff")), 1, 12)
		secrets := []Secret{{Value: letters.Draw(rt, "one"), Placeholder: "{1}"}, {Value: letters.Draw(rt, "two"), Placeholder: "{2}"}}
		known := append(forms(secrets[0].Value), forms(secrets[1].Value)...)
		var body []byte
		for range rapid.IntRange(0, 12).Draw(rt, "parts") {
			part := rapid.SampledFrom(known).Draw(rt, "form")
			body = append(body, part[:rapid.IntRange(0, len(part)).Draw(rt, "of it")]...)
			body = append(body, letters.Draw(rt, "between")...)
		}
		sizes := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 100).Draw(rt, "sizes")
		out := scrubbed(t, secrets, body, sizes)
		if form := betray(out, secrets); form != "" {
			rt.Fatalf("%q has %q in it", out, form)
		}
		if whole := scrubbed(t, secrets, body, nil); whole != out {
			rt.Fatalf("%q at once and %q in pieces", whole, out)
		}
		if betray(string(body), secrets) == "" && out != string(body) {
			rt.Fatalf("%q became %q", body, out)
		}
	})
}

// In base64 a value is found wherever it is.
func TestBase64AtAnyOffset(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.SliceOfN(rapid.Byte(), 9, 60).Draw(rt, "value")
		before, after := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(rt, "before"), rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(rt, "after")
		secrets := []Secret{{Value: value, Placeholder: "{1}"}}
		alphabet := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding}).Draw(rt, "alphabet")
		coded := alphabet.EncodeToString(bytes.Join([][]byte{before, value, after}, nil))
		out := scrubbed(t, secrets, []byte(coded), nil)
		if !strings.Contains(out, "{1}") || len(out) > len(coded)-len(value)*8/6+2+3 {
			rt.Fatalf("%q became %q", coded, out)
		}
	})
}

// A broken connection does not hand on what was held back.
func TestABrokenBodyEndsWithItsError(t *testing.T) {
	s := &scrubber{from: io.NopCloser(io.MultiReader(strings.NewReader("all s3cr"), iotest.ErrReader(io.ErrUnexpectedEOF))), look: newPatterns(bound()), ended: func() {}}
	out, err := io.ReadAll(s)
	want(t, "error", err, io.ErrUnexpectedEOF)
	want(t, "what came", string(out), "all ")
}

func TestLongValues(t *testing.T) {
	secrets := []Secret{{Value: bytes.Repeat([]byte("abcdefg/"), 8<<10), Placeholder: "{1}"}}
	body := append(append([]byte("<"), secrets[0].Value...), '>')
	want(t, "what came", scrubbed(t, secrets, body, []int{1, 30000, 5}), "<{1}>")
	want(t, "a part of it", scrubbed(t, secrets, body[:60000], nil), string(body[:60000]))
}

// Where one value begins with another, the longer one is waited for.
func TestALongerValueIsWaitedFor(t *testing.T) {
	secrets := []Secret{{Value: []byte("abc"), Placeholder: "{1}"}, {Value: []byte("abcdef"), Placeholder: "{2}"}}
	for body, out := range map[string]string{"abcdef": "{2}", "abcdeabc": "{1}de{1}", "abcdabcdef": "{1}d{2}", "ababcdef": "ab{2}"} {
		for size := range 6 {
			want(t, body, scrubbed(t, secrets, []byte(body), []int{size, 1, 1, 1, 1}), out)
		}
	}
}

func FuzzScrubber(f *testing.F) {
	f.Add([]byte("token"), []byte("a token and dG9rZW4="), []byte{1, 2, 3})
	f.Add([]byte("aab"), []byte("aaab aab"), []byte{1})
	f.Fuzz(func(t *testing.T, value, body, cuts []byte) {
		if len(value) == 0 || len(value) > 100 {
			return
		}
		secrets := []Secret{{Value: value, Placeholder: placeholder}}
		sizes := make([]int, len(cuts))
		for n, cut := range cuts {
			sizes[n] = int(cut)
		}
		out := scrubbed(t, secrets, body, sizes)
		if !strings.Contains(placeholder, string(value)) && betray(out, secrets) != "" && !bytes.Contains(value, []byte{0}) {
			t.Fatalf("%q has %q in it", out, betray(out, secrets))
		}
		if whole := scrubbed(t, secrets, body, nil); whole != out {
			t.Fatalf("%q at once and %q in pieces", whole, out)
		}
	})
}

func BenchmarkScrubber(b *testing.B) {
	secrets := []Secret{{Value: []byte("tok_0123456789abcdefghijklmnopqrstuvwxyz"), Placeholder: placeholder}}
	body := bytes.Repeat([]byte("The quick brown fox jumps over the lazy dog. "), 1<<15)
	b.SetBytes(int64(len(body)))
	look := newPatterns(secrets)
	for b.Loop() {
		_, _ = io.Copy(io.Discard, &scrubber{from: io.NopCloser(bytes.NewReader(body)), look: look, ended: func() {}})
	}
}
