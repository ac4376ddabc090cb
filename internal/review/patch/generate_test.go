package patch

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"pgregory.net/rapid"
)

// nasty are lines that a careless reader of patches takes for something else.
var nasty = []string{
	"-- \n", "--\n", "-- a/x\n", "--- a/x\n", "++ b/x\n", "+++ b/x\n", "@@ -1 +1 @@\n", "@@\n",
	"diff --git a/x b/x\n", "index 1..2\n", "\\ No newline at end of file\n", "GIT binary patch\n",
	"literal 0\n", "rename from x\n", "new file mode 100644\n", "crlf\r\n", "\r\n", "\r", "\n", "\n", "}\n", "}\n",
	" leading\n", "\tif x {\n", "trailing \n", "a\n", "a\n", "b\n", "c\n", "\xff\xfe\n", "é\n", "+\n", "-\n", " \n", "\\\n",
	"<<<<<<< a\n", "=======\n", ">>>>>>> b\n",
}

// lineOf makes lines of which some are often repeated and some never.
func lineOf() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom(nasty),
		rapid.Map(rapid.IntRange(0, 1_000_000), func(n int) string { return fmt.Sprintf("line %d\n", n) }),
	)
}

func textOf(lines *rapid.Generator[string], longest int) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		return unterminated(t, rapid.SliceOfN(lines, 0, longest).Draw(t, "lines"))
	})
}

// unterminated sometimes takes the last newline away.
func unterminated(t *rapid.T, lines []string) []byte {
	text := strings.Join(lines, "")
	if rapid.IntRange(0, 3).Draw(t, "open") == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return []byte(text)
}

// changed makes another version: some lines deleted, replaced, inserted,
// repeated.
func changed(t *rapid.T, text []byte, lines *rapid.Generator[string]) []byte {
	var out []string
	every := rapid.IntRange(1, 20).Draw(t, "every")
	for _, line := range Split(append(text, '\n')) {
		kind := 0
		if rapid.IntRange(1, every).Draw(t, "hit") == 1 {
			kind = rapid.IntRange(1, 4).Draw(t, "kind")
		}
		switch kind {
		case 0:
			out = append(out, string(line))
		case 1: // deleted
		case 2:
			out = append(out, lines.Draw(t, "line"))
		case 3:
			out = append(out, lines.Draw(t, "line"), string(line))
		case 4:
			out = append(out, string(line), string(line))
		}
	}
	return unterminated(t, out)
}

// pairOf makes two versions, near or far from each other, text or binary.
func pairOf(lines *rapid.Generator[string]) *rapid.Generator[[2][]byte] {
	return rapid.Custom(func(t *rapid.T) [2][]byte {
		old := textOf(lines, 60).Draw(t, "old")
		if rapid.IntRange(0, 5).Draw(t, "unrelated") == 0 {
			return [2][]byte{old, textOf(lines, 60).Draw(t, "new")}
		}
		return [2][]byte{old, changed(t, bytes.Clone(old), lines)}
	})
}

func withNULs() *rapid.Generator[[]byte] {
	return rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) []byte { return append(b, 0) })
}

func nameOf() *rapid.Generator[string] {
	part := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte("ab b/\n\t\"\\\x01\x7f\xc3\xa9\xff:,-+'{}$;")), 1, 8),
		func(b []byte) string { return "x" + strings.ReplaceAll(string(b), "/", "_") })
	return rapid.Map(rapid.SliceOfN(part, 1, 3), func(parts []string) string { return strings.Join(parts, "/") })
}

// fileOf makes every kind of change that git can tell.
func fileOf() *rapid.Generator[File] {
	return rapid.Custom(func(t *rapid.T) File {
		pair := pairOf(lineOf()).Draw(t, "pair")
		f := File{Old: pair[0], New: pair[1]}
		switch rapid.IntRange(0, 5).Draw(t, "content") {
		case 0:
			f.New = withNULs().Draw(t, "binary")
		case 1:
			f.Old = withNULs().Draw(t, "binary")
		case 2:
			f.New = f.Old
		}
		f.OldPath = nameOf().Draw(t, "path")
		f.NewPath = f.OldPath
		f.OldMode, f.Old = modeOf(t, f.Old)
		f.NewMode, f.New = modeOf(t, f.New)
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			f.OldPath, f.Old = "", nil
		case 1:
			f.NewPath, f.New = "", nil
		case 2:
			f.NewPath = nameOf().Draw(t, "new path") + "2"
			f.Similarity = rapid.IntRange(0, 100).Draw(t, "similarity")
		}
		return f
	})
}

// modeOf draws a mode, and makes a target of the content for a symlink.
func modeOf(t *rapid.T, content []byte) (fs.FileMode, []byte) {
	mode := rapid.SampledFrom([]fs.FileMode{0o644, 0o644, 0o755, 0o600, 0o711, fs.ModeSymlink | 0o777}).Draw(t, "mode")
	if mode&fs.ModeSymlink == 0 {
		return mode, content
	}
	target := bytes.ReplaceAll(content[:min(len(content), 200)], []byte{0}, nil)
	return mode, append([]byte("t"), target...)
}

func (f File) before() version { return version{f.OldPath, f.OldMode, f.Old} }
func (f File) after() version  { return version{f.NewPath, f.NewMode, f.New} }
