package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/forkbox/forkbox"
)

// arena is a directory to unpack into, with something beside it that must
// stay as it is.
func arena(t testing.TB) (dir, outside string) {
	t.Helper()
	top := t.TempDir()
	dir, outside = top+"/in", top+"/out"
	mkdir(t, dir, 0o755)
	write(t, outside+"/victim", "precious", 0o600)
	t.Cleanup(func() {
		data, err := os.ReadFile(outside + "/victim")
		if err != nil || string(data) != "precious" || len(namesBelow(t, outside)) != 1 || len(namesBelow(t, top)) != 3+len(namesBelow(t, dir)) {
			t.Errorf("it reached outside: %q %v %q", data, err, namesBelow(t, top))
		}
	})
	return dir, outside
}

func TestHostileArchives(t *testing.T) {
	up := "../out/victim"
	for name, c := range map[string]struct {
		headers []tar.Header
		says    string
		layer   bool // only the form of a layer refuses it; in a root it leads nowhere
	}{
		"climbing":                     {[]tar.Header{file(up, "x")}, "climbs", false},
		"climbing inside":              {[]tar.Header{folderHeader("a"), file("a/../../out/victim", "x")}, "climbs", false},
		"climbing in the root":         {[]tar.Header{file("/"+up, "x")}, "climbs", false},
		"only climbing":                {[]tar.Header{folderHeader("..")}, "climbs", false},
		"link outside":                 {[]tar.Header{link(tar.TypeLink, "l", up)}, "climbs", false},
		"link through a symlink":       {[]tar.Header{link(tar.TypeSymlink, "s", "../out"), link(tar.TypeLink, "l", "s/victim")}, "through a symlink", false},
		"link to nothing":              {[]tar.Header{link(tar.TypeLink, "l", "nothing")}, "not there", false},
		"link to a directory":          {[]tar.Header{folderHeader("d"), link(tar.TypeLink, "l", "d")}, "only one name", false},
		"file through a symlink":       {[]tar.Header{link(tar.TypeSymlink, "s", "../out"), file("s/victim", "x")}, "symlink", true},
		"file through an absolute one": {[]tar.Header{link(tar.TypeSymlink, "s", "/tmp"), file("s/victim", "x")}, "symlink", true},
		"whiteout through a symlink":   {[]tar.Header{link(tar.TypeSymlink, "s", "../out"), file("s/.wh.victim", "")}, "symlink", true},
		"opaque through a symlink":     {[]tar.Header{link(tar.TypeSymlink, "s", "../out"), file("s/.wh..wh..opq", "")}, "symlink", true},
		"below a file":                 {[]tar.Header{file("f", "x"), file("f/g", "x")}, "not a directory", false},
		"whiteout of the parent":       {[]tar.Header{folderHeader("d"), file("d/.wh...", "")}, "deletes no name", false},
		"whiteout of itself":           {[]tar.Header{folderHeader("d"), file("d/.wh..", "")}, "deletes no name", false},
		"whiteout of nothing":          {[]tar.Header{file(".wh.", "")}, "deletes no name", false},
		"below a whiteout":             {[]tar.Header{file(".wh.d/f", "")}, "only says what was deleted", false},
		"root as a file":               {[]tar.Header{file(".", "")}, "can only be a directory", false},
		"root as a symlink":            {[]tar.Header{link(tar.TypeSymlink, "./", "/tmp")}, "can only be a directory", false},
		"device":                       {[]tar.Header{{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}, "device node", true},
		"whiteout as a device":         {[]tar.Header{{Name: "w", Typeflag: tar.TypeChar}}, "device node", true},
		"disk":                         {[]tar.Header{{Name: "sda", Typeflag: tar.TypeBlock, Devmajor: 8}}, "device node", true},
		"name too long for a file":     {[]tar.Header{file(strings.Repeat("n", 300), "")}, "too long", false},
		"symlink to nothing":           {[]tar.Header{link(tar.TypeSymlink, "s", "")}, "symlink to nothing", false},
		"unknown kind":                 {[]tar.Header{{Name: "x", Typeflag: 'V'}}, "of a kind", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := arena(t)
			l := tarLayer(t, c.headers...)
			_, err := UnpackLayer(context.Background(), l, into(dir), Form{XattrPrefix: prefix()})
			wantError(t, err, forkbox.Invalid, c.says)
			dir, _ = arena(t)
			_, err = UnpackRoot(context.Background(), dir, []Layer{l}, Form{})
			if !c.layer {
				wantError(t, err, forkbox.Invalid, c.says)
			}
		})
	}
}

// In a root, symlinks of the image are followed as far as the root.
func TestSymlinksLeadNoFurtherThanTheRoot(t *testing.T) {
	dir, _ := arena(t)
	base := tarLayer(t, folderHeader("usr/lib"), link(tar.TypeSymlink, "lib", "usr/lib"),
		folderHeader("out"), link(tar.TypeSymlink, "up", "../../../out"), link(tar.TypeSymlink, "abs", "/out"))
	top := tarLayer(t, file("lib/a.so", "a"), file("up/b", "b"), file("abs/c", "c"), file("/lib//./d", "d"))
	_, err := UnpackRoot(context.Background(), dir, []Layer{base, top}, Form{})
	check(t, err)
	want := []string{"abs", "lib", "out", "out/b", "out/c", "up", "usr", "usr/lib", "usr/lib/a.so", "usr/lib/d"}
	if got := namesBelow(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestDevicesOfARootAreCountedAndNotMade(t *testing.T) {
	dir, _ := arena(t)
	l := tarLayer(t, folderHeader("dev"), tar.Header{Name: "dev/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, file("f", "x"))
	out, err := UnpackRoot(context.Background(), dir, []Layer{l}, Form{})
	check(t, err)
	if got := namesBelow(t, dir); out.Left.Devices != 1 || !slices.Equal(got, []string{"dev", "f"}) {
		t.Errorf("%+v %q", out, got)
	}
}

// overlayfs follows its own attributes: an archive must not be able to set
// them, neither those of root nor those of others.
func TestOverlaysAttributesAreNotTakenOver(t *testing.T) {
	h := folderHeader("d")
	h.PAXRecords = map[string]string{
		schily + "trusted.overlay.redirect": "/root", schily + "user.overlay.redirect": "/root",
		schily + "trusted.overlay.opaque": "y", schily + "user.overlay.opaque": "y", schily + "user.kept": "1",
	}
	root, layer := t.TempDir(), t.TempDir()
	_, err := UnpackRoot(context.Background(), root, []Layer{tarLayer(t, h)}, Form{})
	check(t, err)
	_, err = UnpackLayer(context.Background(), tarLayer(t, h), into(layer), Form{XattrPrefix: prefix()})
	check(t, err)
	for _, dir := range []string{root, layer} {
		if got := xattrsOf(t, dir+"/d"); got != ` user.kept="1"` {
			t.Errorf("attributes%s", got)
		}
	}
}

func TestLimits(t *testing.T) {
	many := []tar.Header{file("a", "1"), file("b", "2"), file("c", "3")}
	big := file("big", strings.Repeat("0123456789", 1000))
	attrs := file("x", "")
	attrs.PAXRecords = map[string]string{schily + "user.x": strings.Repeat("v", 5000)}
	for name, c := range map[string]struct {
		headers []tar.Header
		limits  Limits
		says    string
	}{
		"entries": {many, Limits{Entries: 2}, "more than 2 entries"},
		"bytes":   {[]tar.Header{big}, Limits{Bytes: 9999}, "more than 9999 bytes"},
		"name":    {[]tar.Header{file(strings.Repeat("d/", 100)+"f", "")}, Limits{Name: 100}, "more than 100 bytes"},
		"target":  {[]tar.Header{link(tar.TypeSymlink, "s", strings.Repeat("d/", 100))}, Limits{Name: 100}, "more than 100 bytes"},
		"header":  {[]tar.Header{attrs}, Limits{Header: 1000}, "more than 1000 bytes of attributes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := arena(t)
			_, err := UnpackRoot(context.Background(), dir, []Layer{tarLayer(t, c.headers...)}, Form{Limits: c.limits})
			wantError(t, err, forkbox.Invalid, c.says)
			_, err = UnpackLayer(context.Background(), tarLayer(t, c.headers...), into(t.TempDir()), Form{Limits: c.limits, XattrPrefix: prefix()})
			wantError(t, err, forkbox.Invalid, c.says)
		})
	}
}

// bomb is many zeros in few bytes.
func bomb(t testing.TB, w func(io.Writer) io.WriteCloser) []byte {
	var buf bytes.Buffer
	z := w(&buf)
	tw := tar.NewWriter(z)
	check(t, tw.WriteHeader(&tar.Header{Name: "zeros", Size: 8 << 20, Mode: 0o600}))
	_, err := tw.Write(make([]byte, 8<<20))
	check(t, err)
	check(t, tw.Close())
	check(t, z.Close())
	return buf.Bytes()
}

func TestBombs(t *testing.T) {
	packers := map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	}
	for name, w := range packers {
		t.Run(name, func(t *testing.T) {
			data := bomb(t, w)
			_, err := UnpackRoot(context.Background(), t.TempDir(), []Layer{layerOf(data, "")}, Form{Limits: Limits{Ratio: 100, RatioFrom: 1 << 20}})
			wantError(t, err, forkbox.Invalid, "claim to be more")
			_, err = UnpackRoot(context.Background(), t.TempDir(), []Layer{layerOf(data, "")}, Form{})
			check(t, err) // 8 MiB of zeros are no attack
		})
	}
	if DefaultLimits.Ratio > 1000 || DefaultLimits.RatioFrom > 1<<30 {
		t.Error("the defaults let bombs through")
	}
}

// A file of holes is small in every archive and as large as it likes on disk.
func TestHolesCountAsBytes(t *testing.T) {
	// GNU's form 1.0: the content begins with a map of what is not a hole.
	content := "0\n" + strings.Repeat("\x00", 510)
	h := tar.Header{Name: "holes", Uname: content, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "holes", "GNU.sparse.realsize": "1099511627776",
	}}
	data := sparseArchive(t, h)
	_, err := UnpackRoot(context.Background(), t.TempDir(), []Layer{layerOf(data, "")}, Form{})
	wantError(t, err, forkbox.Invalid, "more than")
}

// sparseArchive: the package archive/tar does not write those records, but
// ones with names that are as long.
func sparseArchive(t testing.TB, h tar.Header) []byte {
	records := map[string]string{}
	for k, v := range h.PAXRecords {
		records["FBX.sparse"+strings.TrimPrefix(k, "GNU.sparse")] = v
	}
	h.PAXRecords = records
	return bytes.ReplaceAll(tarOf(t, h), []byte("FBX.sparse"), []byte("GNU.sparse"))
}

func TestSparseFile(t *testing.T) {
	// One byte at 1000000, the rest is a hole.
	content := "1\n1000000\n1\n" + strings.Repeat("\x00", 500) + "!"
	h := tar.Header{Name: "holes", Uname: content, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "holes", "GNU.sparse.realsize": "1000001",
	}}
	dir := t.TempDir()
	_, err := UnpackRoot(context.Background(), dir, []Layer{layerOf(sparseArchive(t, h), "")}, Form{})
	check(t, err)
	data, err := os.ReadFile(dir + "/holes")
	if err != nil || len(data) != 1000001 || data[1000000] != '!' || bytes.Count(data, []byte{0}) != 1000000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestNegativeSizesAndOtherDamage(t *testing.T) {
	good := tarOf(t, file("a", strings.Repeat("x", 1000)), file("b", "y"))
	negative := bytes.Clone(good)
	copy(negative[124:136], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xf0") // in base 256
	sum := checksum(negative[:512])
	copy(negative[148:156], sum)
	for name, data := range map[string][]byte{"negative": negative, "cut": good[:700], "text": []byte(strings.Repeat("no archive ", 200)), "nothing": {}} {
		t.Run(name, func(t *testing.T) {
			plain := PlainTar(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
			_, err := UnpackRoot(context.Background(), t.TempDir(), []Layer{plain}, Form{})
			if forkbox.CodeOf(err) != forkbox.Invalid {
				t.Errorf("error %v", err)
			}
		})
	}
}

func checksum(header []byte) string {
	sum := 0
	for i, b := range header {
		if i >= 148 && i < 156 {
			b = ' '
		}
		sum += int(b)
	}
	octal := "000000"
	for i := 5; sum > 0; i-- {
		octal = octal[:i] + string(rune('0'+sum%8)) + octal[i+1:]
		sum /= 8
	}
	return octal + "\x00 "
}

func TestWrongDigestsAreRefused(t *testing.T) {
	data := tarOf(t, file("f", "x"))
	wrong := FromBytes([]byte("something else"))
	good := layerOf(data, FromBytes(data))
	content, size, diff := good, good, good
	content.Descriptor.Digest = wrong
	size.Descriptor.Size++
	diff.DiffID = wrong
	larger := good
	larger.Descriptor.Size = 100
	trailing := layerOf(data, FromBytes(data))
	trailing.open = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(data), strings.NewReader("more"))), nil
	}
	for name, l := range map[string]Layer{"content": content, "size": size, "diff": diff, "larger": larger, "trailing": trailing} {
		t.Run(name, func(t *testing.T) {
			_, err := UnpackRoot(context.Background(), t.TempDir(), []Layer{l}, Form{})
			if forkbox.CodeOf(err) != forkbox.Invalid {
				t.Errorf("error %v", err)
			}
		})
	}
	_, err := UnpackRoot(context.Background(), t.TempDir(), []Layer{good}, Form{})
	check(t, err)
}

func TestDirectoriesThatShutThemselves(t *testing.T) {
	dir := t.TempDir()
	shut := folderHeader("shut")
	shut.Mode = 0o010 // tarOf takes zero for "any"
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "shut"), 0o700) })
	shutMode := tarLayer(t, shut, file("shut/f", "x"))
	_, err := UnpackRoot(context.Background(), dir, []Layer{shutMode, tarLayer(t, file("shut/g", "y"))}, Form{})
	check(t, err)
	info, err := os.Stat(dir + "/shut")
	check(t, err)
	if info.Mode().Perm() != 0o010 {
		t.Errorf("mode %v", info.Mode())
	}
}
