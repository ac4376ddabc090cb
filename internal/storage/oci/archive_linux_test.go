package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

func someImage() Image {
	return Image{
		Ref: "v1", Created: then.UTC(), Env: []string{"PATH=/bin", "A=b=c"}, WorkingDir: "/srv", Cmd: []string{"/bin/sh"},
		Labels: map[string]string{"org.example": "x"}, Base: forkbox.Reality,
		Surroundings: &forkbox.Surroundings{OS: "debian 12", Arch: "amd64", Packages: map[string]string{"libc6": "2.36"}},
		Snapshot:     &Note{Name: "s1", Message: "before\nthe upgrade", Created: then.UTC()},
	}
}

// exported is a small image of two layers as an archive.
func exported(t testing.TB, im Image) []byte {
	t.Helper()
	base, top, spool := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, base+"/etc/a", "1", 0o644)
	write(t, base+"/etc/b", "2", 0o644)
	whiteout(t, top+"/etc/a")
	write(t, top+"/etc/c", "3", 0o644)
	for _, dir := range []string{base, top} {
		check(t, os.Chtimes(dir+"/etc", then, then))
	}
	var buf bytes.Buffer
	_, err := Export(context.Background(), &buf, Exporting{Spool: spool, Image: im, Layers: []Stratum{
		{Trees: []Tree{{"/", base}}}, {Trees: []Tree{{"/", top}}, Options: Options{XattrPrefix: prefix()}},
	}})
	check(t, err)
	if left := namesBelow(t, spool); len(left) > 0 {
		t.Errorf("left in the spool: %q", left)
	}
	return buf.Bytes()
}

func TestImageComesBackAsItWas(t *testing.T) {
	data := exported(t, someImage())
	if again := exported(t, someImage()); !bytes.Equal(data, again) {
		t.Error("the same snapshot makes another archive")
	}
	dir := t.TempDir()
	l, err := ReadArchive(context.Background(), bytes.NewReader(data), dir, Limits{})
	check(t, err)
	im, err := l.Image(Want{})
	check(t, err)
	root := t.TempDir()
	_, err = UnpackRoot(context.Background(), root, im.Layers, Form{})
	check(t, err)
	if got := namesBelow(t, root); !slices.Equal(got, []string{"etc", "etc/b", "etc/c"}) {
		t.Errorf("files %q", got)
	}
	if !im.OnReality() || im.Digest == "" {
		t.Errorf("%+v", im)
	}
	want := someImage()
	want.OS, want.Arch, want.Layers, want.Digest = "linux", runtime.GOARCH, im.Layers, im.Digest
	if !reflect.DeepEqual(*im, want) {
		t.Errorf("got  %+v\nwant %+v", *im, want)
	}
	reopened, err := OpenLayout(dir)
	check(t, err)
	_, err = reopened.Image(Want{Ref: "v1"})
	check(t, err)
}

func TestImageThatSaysNothingOfForkbox(t *testing.T) {
	im, err := imageOf(imageConfig{Config: runConfig{Labels: map[string]string{"a": "b"}}})
	check(t, err)
	if im.OnReality() || im.Surroundings != nil || im.Snapshot != nil {
		t.Errorf("%+v", im)
	}
	for _, label := range []string{LabelSurroundings, LabelSnapshot} {
		_, err := imageOf(imageConfig{Config: runConfig{Labels: map[string]string{label: "{"}}})
		wantError(t, err, forkbox.Invalid, label)
	}
}

// rewrite changes entries of an archive; nil drops one.
func rewrite(t testing.TB, data []byte, change func(name string, content []byte) []byte) []byte {
	t.Helper()
	var headers []tar.Header
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return tarOf(t, headers...)
		}
		check(t, err)
		if h.Typeflag == tar.TypeDir {
			continue
		}
		content, err := io.ReadAll(r)
		check(t, err)
		if content = change(h.Name, content); content != nil {
			headers = append(headers, file(h.Name, string(content)))
		}
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	good := exported(t, someImage())
	is := func(suffix string, change func([]byte) []byte) []byte {
		return rewrite(t, good, func(name string, content []byte) []byte {
			if strings.HasPrefix(name, suffix) {
				return change(content)
			}
			return content
		})
	}
	drop := func([]byte) []byte { return nil }
	for name, c := range map[string]struct {
		data   []byte
		limits Limits
		code   forkbox.Code
		says   string
	}{
		"tampered":     {is("blobs/", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), Limits{}, forkbox.Invalid, "another content"},
		"no index":     {is("index.json", drop), Limits{}, forkbox.Invalid, "no index.json"},
		"bad index":    {is("index.json", func([]byte) []byte { return []byte("{") }), Limits{}, forkbox.Invalid, "index.json is damaged"},
		"docker's":     {tarOf(t, file("manifest.json", "[]"), file("x/layer.tar", "")), Limits{}, forkbox.Unsupported, "docker"},
		"a root":       {tarOf(t, file("etc/passwd", "")), Limits{}, forkbox.Invalid, "not an image"},
		"text":         {[]byte(strings.Repeat("hello ", 200)), Limits{}, forkbox.Invalid, "damaged"},
		"cut":          {good[:520], Limits{}, forkbox.Invalid, "damaged"},
		"too large":    {good, Limits{Bytes: 2000}, forkbox.Invalid, "more than 2000 bytes"},
		"many entries": {good, Limits{Entries: 2}, forkbox.Invalid, "more than 2 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := ReadArchive(context.Background(), bytes.NewReader(c.data), dir, c.limits)
			wantError(t, err, c.code, c.says)
			if left := namesBelow(t, dir); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestArchiveWithoutABlobIsFoundOut(t *testing.T) {
	good := exported(t, someImage())
	for r := tar.NewReader(bytes.NewReader(good)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if h.Typeflag == tar.TypeDir || !strings.HasPrefix(h.Name, "blobs/") {
			continue
		}
		data := rewrite(t, good, func(name string, content []byte) []byte {
			if name == h.Name {
				return nil
			}
			return content
		})
		l, err := ReadArchive(context.Background(), bytes.NewReader(data), t.TempDir(), Limits{})
		check(t, err)
		_, err = l.Image(Want{})
		if err == nil || forkbox.CodeOf(err) == forkbox.Internal {
			t.Errorf("without %s: error %v", h.Name, err)
		}
	}
}

// A directory that has something in it loses nothing.
func TestOnlyEmptyDirectoriesAreFilled(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/mine", "precious", 0o644)
	_, err := ReadArchive(context.Background(), strings.NewReader("text"), dir, Limits{})
	wantError(t, err, forkbox.Invalid, "is not empty")
	_, err = UnpackRoot(context.Background(), dir, []Layer{tarLayer(t, file("mine", "x"))}, Form{})
	wantError(t, err, forkbox.Invalid, "is not empty")
	if data, err := os.ReadFile(dir + "/mine"); err != nil || string(data) != "precious" {
		t.Errorf("%q, %v", data, err)
	}
}

// An archive has names that lead elsewhere: nothing but blobs is written.
func TestArchiveNamesLeadNowhere(t *testing.T) {
	dir, _ := arena(t)
	data := rewrite(t, exported(t, someImage()), func(_ string, content []byte) []byte { return content })
	evil := tarOf(t, file("blobs/sha256/../../../out/victim", "x"), file("../out/victim", "x"), file("blobs/../x", "x"),
		link(tar.TypeSymlink, "blobs/sha256/"+strings.Repeat("a", 64), "/etc/passwd"), file("blobs/md5/"+strings.Repeat("a", 32), "x"))
	data = append(evil[:len(evil)-1024], data...)
	_, err := ReadArchive(context.Background(), bytes.NewReader(data), dir, Limits{})
	check(t, err)
	for _, name := range namesBelow(t, dir) {
		if strings.Contains(name, "victim") || strings.HasSuffix(name, "x") || strings.Contains(name, "aaaa") {
			t.Errorf("made %q", name)
		}
	}
}

// several is a layout with an index of images for several machines.
func several(t *testing.T, platforms ...string) *Layout {
	l, err := CreateLayout(t.TempDir())
	check(t, err)
	inner := emptyIndex()
	for _, p := range platforms {
		system, arch, _ := strings.Cut(p, "/")
		d, err := l.AddImage(context.Background(), Image{OS: system, Arch: arch, Cmd: []string{p}}, nil)
		check(t, err)
		inner.Manifests = append(inner.Manifests, d)
	}
	data, err := json.Marshal(inner)
	check(t, err)
	d, err := l.PutBlob(context.Background(), MediaTypeIndex, data)
	check(t, err)
	outer := emptyIndex()
	outer.Manifests = []Descriptor{d}
	check(t, l.writeJSON(indexFile, outer))
	return l
}

func TestImageForThisMachineIsChosen(t *testing.T) {
	l := several(t, "linux/amd64", "linux/arm64", "windows/amd64")
	for _, arch := range []string{"amd64", "arm64"} {
		im, err := l.Image(Want{Arch: arch})
		check(t, err)
		if im.Arch != arch || im.OS != "linux" {
			t.Errorf("%s: got %s/%s", arch, im.OS, im.Arch)
		}
	}
	_, err := l.Image(Want{Arch: "riscv64"})
	wantError(t, err, forkbox.NotFound, "it has linux/amd64, linux/arm64, windows/amd64")
	_, err = l.Image(Want{Arch: "amd64", Ref: "v9"})
	wantError(t, err, forkbox.NotFound, `"v9"`)
}

func TestSeveralImagesHaveToBeNamed(t *testing.T) {
	l, err := CreateLayout(t.TempDir())
	check(t, err)
	_, err = l.Image(Want{})
	wantError(t, err, forkbox.Invalid, "no image in it")
	for _, ref := range []string{"a", "b", "a"} {
		_, err := l.AddImage(context.Background(), Image{Ref: ref, Cmd: []string{ref}}, nil)
		check(t, err)
	}
	_, err = l.Image(Want{})
	wantError(t, err, forkbox.Ambiguous, "a (linux/")
	im, err := l.Image(Want{Ref: "b"})
	check(t, err)
	if im.Ref != "b" || !slices.Equal(im.Cmd, []string{"b"}) {
		t.Errorf("%+v", im)
	}
}

// Where the entry of an index does not say what machine an image is for, its
// configuration does.
func TestPlatformFromTheConfiguration(t *testing.T) {
	l, err := CreateLayout(t.TempDir())
	check(t, err)
	d, err := l.AddImage(context.Background(), Image{Arch: "s390x"}, nil)
	check(t, err)
	index := emptyIndex()
	d.Platform = nil
	index.Manifests = []Descriptor{d}
	check(t, l.writeJSON(indexFile, index))
	_, err = l.Image(Want{Arch: "s390x"})
	check(t, err)
	_, err = l.Image(Want{Arch: "arm"})
	wantError(t, err, forkbox.NotFound, "linux/s390x")
}

func TestLayoutsOfOthers(t *testing.T) {
	_, err := OpenLayout(t.TempDir())
	wantError(t, err, forkbox.Invalid, "not an image layout")
	for name, prepare := range map[string]func(dir string) error{
		"fifo":    func(dir string) error { return unix.Mkfifo(dir+"/index.json", 0o600) },
		"symlink": func(dir string) error { return os.Symlink("/proc/self/environ", dir+"/index.json") },
		"folder":  func(dir string) error { return os.Mkdir(dir+"/index.json", 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/oci-layout", `{"imageLayoutVersion":"1.0.0"}`, 0o644)
			check(t, prepare(dir))
			l, err := OpenLayout(dir)
			check(t, err)
			if _, err := l.Image(Want{}); err == nil {
				t.Error("no error")
			}
		})
	}
	dir := t.TempDir()
	write(t, dir+"/oci-layout", `{"imageLayoutVersion":"2.0.0"}`, 0o644)
	_, err = OpenLayout(dir)
	wantError(t, err, forkbox.Unsupported, `"2.0.0"`)
}

func TestManifestsThatMakeNoSense(t *testing.T) {
	l, err := CreateLayout(t.TempDir())
	check(t, err)
	for name, m := range map[string]Manifest{
		"layers":   {Layers: []Descriptor{{Digest: FromBytes([]byte("x")), Size: 1}}},
		"negative": {Layers: []Descriptor{{Digest: FromBytes([]byte("x")), Size: -1}}},
		"digest":   {Layers: []Descriptor{{Digest: "sha256:../../etc/passwd", Size: 1}}},
		"many":     {Layers: make([]Descriptor, maxLayers+1)},
	} {
		t.Run(name, func(t *testing.T) {
			m.Config, err = l.putJSON(context.Background(), MediaTypeConfig, imageConfig{})
			check(t, err)
			d, err := l.putJSON(context.Background(), MediaTypeManifest, m)
			check(t, err)
			d.Platform = &Platform{OS: "linux", Architecture: runtime.GOARCH}
			index := emptyIndex()
			index.Manifests = []Descriptor{d}
			check(t, l.writeJSON(indexFile, index))
			_, err = l.Image(Want{})
			if forkbox.CodeOf(err) != forkbox.Invalid {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestExportEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	spool := t.TempDir()
	_, err := Export(ctx, io.Discard, Exporting{Spool: spool, Layers: []Stratum{{Trees: []Tree{{"/", t.TempDir()}}}}})
	if !errors.Is(err, context.Canceled) || len(namesBelow(t, spool)) > 0 {
		t.Errorf("error %v, left %q", err, namesBelow(t, spool))
	}
}
