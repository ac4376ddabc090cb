package flags

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/cli/app"

	"github.com/forkbox/forkbox"
)

func TestParseOrigin(t *testing.T) {
	for from, want := range map[string]origin{
		"":             {kind: "reality"},
		"reality":      {kind: "reality"},
		"empty":        {kind: "empty"},
		"try@green":    {"snapshot", "try@green"},
		"try@":         {"snapshot", "try@"},
		"oci:a@b":      {"oci", "a@b"},
		"oci:/x:y":     {"oci", "/x:y"},
		"tar:-":        {"tar", "-"},
		"dir:.":        {"dir", "."},
		"dir:/a b@c:d": {"dir", "/a b@c:d"},
	} {
		if got, err := parseOrigin(from); err != nil || got != want {
			t.Errorf("%q: %+v %v", from, got, err)
		}
	}
	for _, from := range []string{"try", "oci:", "tar:", "zip:x", "@", "@green", "/etc", "base:1", "a:b@c", "Reality"} {
		_, err := parseOrigin(from)
		var e *forkbox.Error
		if !errors.As(err, &e) || e.Code != forkbox.Invalid {
			t.Errorf("%q: %v", from, err)
		}
	}
}

func TestDirectoriesAreMadeAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	here, _ := os.Getwd()
	if err := errors.Join(os.Mkdir("x", 0o755), os.Symlink("x", "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/../x", "link"} { // the daemon follows no links
		got, err := origin{"dir", name}.resolve(t.Context(), &app.App{}, nil)
		if err != nil || got != "dir:"+filepath.Join(here, "x") {
			t.Error(got, err)
		}
	}
}

func layout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"oci-layout": "{}", "index.json": "[]", "blobs/sha256/aa": "one", "blobs/sha256/bb": "two",
		"secret": "not part of it", "blobs2/x": "nor this",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLayoutAsTar: what belongs to a layout is sent, and nothing else.
func TestLayoutAsTar(t *testing.T) {
	in, err := OpenArchive(layout(t), true)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var got []string
	for r := tar.NewReader(in); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		got = append(got, head.Name+"="+string(text))
	}
	if want := "oci-layout={} index.json=[] blobs/sha256/aa=one blobs/sha256/bb=two"; strings.Join(got, " ") != want {
		t.Error(got)
	}
}

func TestLinksInALayoutAreRefused(t *testing.T) {
	for _, name := range []string{"blobs/sha256/cc", "blobs/sha256", "blobs", "index.json"} {
		dir := layout(t)
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/etc", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		in, err := OpenArchive(dir, true)
		if err == nil {
			_, err = io.Copy(io.Discard, in)
			in.Close()
		}
		if err == nil || !strings.Contains(err.Error(), ": "+name+" is not a file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenArchiveSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct {
		path  string
		image bool
		want  string
	}{
		{filepath.Join(dir, "nosuch"), true, "no such file"}, {dir, true, "oci-layout"}, {dir, false, "it is a directory"},
	} {
		if _, err := OpenArchive(row.path, row.image); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: %v", row, err)
		}
	}
}
