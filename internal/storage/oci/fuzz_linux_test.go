package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// fuzzLimits keep what the fuzzer makes small.
var fuzzLimits = Limits{Bytes: 1 << 20, Entries: 200}

// seedArchives are archives that have something of everything.
func seedArchives(f *testing.F) {
	f.Helper()
	f.Add(tarOf(f, folderHeader("d"), file("d/f", "x"), link(tar.TypeSymlink, "s", "../../out"), file("s/victim", "x"), link(tar.TypeLink, "l", "d/f")))
	f.Add(tarOf(f, file("d/.wh.f", ""), file("d/.wh..wh..opq", ""), file(".wh.d", ""), folderHeader("d"), file("../out/victim", "")))
	attrs := folderHeader("x")
	attrs.PAXRecords = map[string]string{schily + "user.a": "b", schily + "trusted.overlay.opaque": "y", schily + "system.posix_acl_access": "?"}
	f.Add(tarOf(f, attrs, tar.Header{Name: "n", Typeflag: tar.TypeChar, Devmajor: 1}, tar.Header{Name: "p", Typeflag: tar.TypeFifo}))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0})
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Add([]byte("text"))
}

// mend makes the sums of headers right again, so that what the fuzzer changed
// in them is looked at.
func mend(data []byte) []byte {
	data = bytes.Clone(data)
	for at := 0; at+512 <= len(data); at += 512 {
		if header := data[at : at+512]; string(header[257:262]) == "ustar" {
			copy(header[148:156], checksum(header))
		}
	}
	return data
}

// openUp lets a test's clean-up into directories that an archive shut.
func openUp(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}

// Whatever the bytes are: nothing outside is touched, no device is made, and
// an owner gets no rights.
func FuzzUnpack(f *testing.F) {
	seedArchives(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = mend(data)
		owner := &forkbox.Owner{UID: os.Getuid(), GID: os.Getgid()}
		base := tarLayer(t, folderHeader("d"), file("d/f", "1"), link(tar.TypeSymlink, "up", "../out"), link(tar.TypeSymlink, "abs", "/"))
		root, _ := arena(t)
		_, err := UnpackRoot(context.Background(), root, []Layer{base, layerOf(data, "")}, Form{Limits: fuzzLimits, Owner: owner})
		explained(t, err)
		harmless(t, root, false)
		layer, _ := arena(t)
		_, err = UnpackLayer(context.Background(), layerOf(data, ""), into(layer), Form{Limits: fuzzLimits, Owner: owner, XattrPrefix: prefix()})
		explained(t, err)
		harmless(t, layer, true)
	})
}

func explained(t *testing.T, err error) {
	t.Helper()
	var e *forkbox.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("an error without a code: %v", err)
	}
}

func harmless(t *testing.T, dir string, whiteouts bool) {
	t.Helper()
	openUp(dir)
	for _, name := range namesBelow(t, dir) {
		var st unix.Stat_t
		check(t, unix.Lstat(filepath.Join(dir, name), &st))
		format := st.Mode & unix.S_IFMT
		if format == unix.S_IFBLK || format == unix.S_IFCHR && (!whiteouts || st.Rdev != 0) {
			t.Errorf("%q is a device", name)
		}
		if format != unix.S_IFDIR && st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
			t.Errorf("%q has mode %o", name, st.Mode)
		}
	}
}

func FuzzReadArchive(f *testing.F) {
	seedArchives(f)
	f.Add(exported(f, someImage()))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir, _ := arena(t)
		l, err := ReadArchive(context.Background(), bytes.NewReader(mend(data)), dir, fuzzLimits)
		explained(t, err)
		if err != nil {
			if left := namesBelow(t, dir); len(left) > 0 {
				t.Errorf("left behind %q", left)
			}
			return
		}
		im, err := l.Image(Want{})
		explained(t, err)
		if err == nil {
			root := t.TempDir()
			_, err = UnpackRoot(context.Background(), root, im.Layers, Form{Limits: fuzzLimits})
			explained(t, err)
			openUp(root)
		}
		_ = l.WriteArchive(context.Background(), io.Discard)
	})
}

func FuzzConfiguration(f *testing.F) {
	f.Add(`{"schemaVersion":2,"config":{},"layers":[{"digest":"sha256:00","size":-1}]}`, `{"config":{"Labels":{"io.forkbox.surroundings":"null","io.forkbox.snapshot":"{}"}}}`)
	f.Add(`{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","platform":null}]}`, `[]`)
	f.Fuzz(func(t *testing.T, document, config string) {
		m, err := ParseManifest("x", []byte(document))
		explained(t, err)
		if err == nil && len(m.Layers) > maxLayers {
			t.Error("too many layers")
		}
		var index Index
		if json.Unmarshal([]byte(document), &index) == nil {
			_, err := Choose(index.Manifests, Want{})
			explained(t, err)
		}
		var c imageConfig
		if json.Unmarshal([]byte(config), &c) == nil {
			_, err := imageOf(c)
			explained(t, err)
		}
	})
}

func FuzzPackages(f *testing.F) {
	f.Add(dpkgStatus)
	f.Add("P:a\nV:1\n\n\nID=x\nVERSION_ID=\"1\"\n" + strings.Repeat("y", 200000) + "\nPackage: z\nStatus: install ok installed")
	f.Fuzz(func(t *testing.T, text string) {
		for name := range parseDpkg(strings.NewReader(text), "amd64") {
			if name == "" || strings.Contains(name, "\n") {
				t.Errorf("a package %q", name)
			}
		}
		parseApk(strings.NewReader(text))
		parseOSRelease(strings.NewReader(text))
	})
}
