package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
)

func unpackNames(t *testing.T, layers ...Layer) []string {
	t.Helper()
	dir := t.TempDir()
	_, err := UnpackRoot(context.Background(), dir, layers, Form{})
	check(t, err)
	return namesBelow(t, dir)
}

func TestWhiteoutsAreDone(t *testing.T) {
	base := func() Layer {
		return tarLayer(t, folderHeader("d"), file("d/a", "1"), file("d/b", "2"), folderHeader("d/e"), file("d/e/f", "3"), file("g", "4"))
	}
	for name, c := range map[string]struct {
		top  []tar.Header
		want []string
	}{
		"file":                         {[]tar.Header{file("d/.wh.a", "")}, []string{"d", "d/b", "d/e", "d/e/f", "g"}},
		"directory":                    {[]tar.Header{file(".wh.d", "")}, []string{"g"}},
		"what is not there":            {[]tar.Header{file("x/y/.wh.z", ""), file("g/.wh.z", "")}, []string{"d", "d/a", "d/b", "d/e", "d/e/f", "g"}},
		"opaque first":                 {[]tar.Header{file("d/.wh..wh..opq", ""), file("d/n", "")}, []string{"d", "d/n", "g"}},
		"opaque last":                  {[]tar.Header{file("d/n", ""), file("d/b", "new"), file("d/.wh..wh..opq", "")}, []string{"d", "d/b", "d/n", "g"}},
		"opaque above what is implied": {[]tar.Header{file("d/e/n", ""), file("d/.wh..wh..opq", "")}, []string{"d", "d/e", "d/e/n", "g"}},
		"opaque root":                  {[]tar.Header{file("n", ""), file(".wh..wh..opq", "")}, []string{"n"}},
		"gone and made anew":           {[]tar.Header{file(".wh.d", ""), folderHeader("d"), file("d/n", "")}, []string{"d", "d/n", "g"}},
		"made anew and gone":           {[]tar.Header{folderHeader("d"), file("d/n", ""), file(".wh.d", "")}, []string{"d", "d/n", "g"}},
		"file made anew and gone":      {[]tar.Header{file("g", "new"), file(".wh.g", "")}, []string{"d", "d/a", "d/b", "d/e", "d/e/f", "g"}},
		"directory becomes a file":     {[]tar.Header{file("d", "now a file")}, []string{"d", "g"}},
		"file becomes a directory":     {[]tar.Header{folderHeader("g"), file("g/h", "")}, []string{"d", "d/a", "d/b", "d/e", "d/e/f", "g", "g/h"}},
		"directory becomes a symlink":  {[]tar.Header{link(tar.TypeSymlink, "d", "g")}, []string{"d", "g"}},
		"link to a lower file":         {[]tar.Header{link(tar.TypeLink, "h", "d/a"), file("d/.wh.a", "")}, []string{"d", "d/b", "d/e", "d/e/f", "g", "h"}},
		"bookkeeping of old":           {[]tar.Header{folderHeader(".wh..wh.plnk"), file(".wh..wh.aufs", "")}, []string{"d", "d/a", "d/b", "d/e", "d/e/f", "g"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unpackNames(t, base(), tarLayer(t, c.top...)); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestRepeatedAndChangingEntries(t *testing.T) {
	headers := []tar.Header{
		file("x", "1"), file("x", "2"), folderHeader("x"), file("x/y", "3"), link(tar.TypeSymlink, "x", "z"),
		file("x", "4"), link(tar.TypeLink, "l", "x"), link(tar.TypeLink, "l", "x"), link(tar.TypeLink, "x", "x"), file("l", "5"),
	}
	root, layer := t.TempDir(), t.TempDir()
	_, err := UnpackRoot(context.Background(), root, []Layer{tarLayer(t, headers...)}, Form{})
	check(t, err)
	_, err = UnpackLayer(context.Background(), tarLayer(t, headers...), into(layer), Form{XattrPrefix: prefix()})
	check(t, err)
	for _, dir := range []string{root, layer} {
		x, _ := os.ReadFile(dir + "/x")
		l, _ := os.ReadFile(dir + "/l")
		if string(x) != "4" || string(l) != "5" || len(namesBelow(t, dir)) != 2 {
			t.Errorf("x %q, l %q, %q", x, l, namesBelow(t, dir))
		}
	}
}

func TestGoneAndMadeAnewInOneLayerIsOpaque(t *testing.T) {
	for _, headers := range [][]tar.Header{
		{file(".wh.d", ""), folderHeader("d"), file("d/n", "")},
		{folderHeader("d"), file("d/n", ""), file(".wh.d", "")},
		{folderHeader("d"), file("d/.wh..wh..opq", ""), file("d/n", "")},
	} {
		dir := t.TempDir()
		_, err := UnpackLayer(context.Background(), tarLayer(t, headers...), into(dir), Form{XattrPrefix: prefix()})
		check(t, err)
		if got := xattrsOf(t, dir+"/d"); got != " "+prefix()+`opaque="y"` {
			t.Errorf("attributes%s", got)
		}
	}
}

func TestPlainTarNamesAreOnlyNames(t *testing.T) {
	data := tarOf(t, folderHeader("./"), file("./.wh.x", "1"), file("x", "2"))
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write(data)
	check(t, errors.Join(err, z.Close()))
	for _, content := range [][]byte{data, buf.Bytes()} {
		l := PlainTar(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
		if got := unpackNames(t, l); !slices.Equal(got, []string{".wh.x", "x"}) {
			t.Errorf("got %q", got)
		}
	}
}

func TestUnpackEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := UnpackRoot(ctx, t.TempDir(), []Layer{tarLayer(t, file("f", "x"))}, Form{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
