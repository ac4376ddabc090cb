package owned

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestWhoOwns: files and directories, of one package or several; what is beside
// them is no package's.
func TestWhoOwns(t *testing.T) {
	debian := machine(t, map[string]string{
		"var/lib/dpkg/info/openssl.list":         "/.\n/etc\n/etc/ssl\n/etc/ssl/openssl.cnf\n/usr/bin/openssl\n",
		"var/lib/dpkg/info/ca-certificates.list": "/.\n/etc\n/etc/ssl\n/etc/ssl/certs\n",
		"var/lib/dpkg/info/libc6:amd64.list":     "/lib/libc.so.6\n/opt/libc/a b\n",
		"var/lib/dpkg/info/libc6:amd64.md5sums":  "/srv/x\n",
	})
	alpine := machine(t, map[string]string{
		"lib/apk/db/installed": "C:Q1\nP:musl\nV:1\nF:lib\nR:ld-musl.so\na:0:0:755\n\nP:busybox\nF:bin\nR:busybox\nF:etc/busybox-paths.d\nR:busybox\n",
	})
	for _, row := range []struct{ root, path, want string }{
		{debian, "/etc/ssl/openssl.cnf", "[openssl]"},
		{debian, "/etc/ssl", "[ca-certificates openssl]"},
		{debian, "/etc/ssl/openssl.cnf.new", "[]"},
		{debian, "/etc/ss", "[]"},
		{debian, "/opt/libc/a b", "[libc6]"},
		{debian, "/opt", "[libc6]"},
		{debian, "/srv/x", "[]"},
		{debian, "/lib/libc.so.6", "[libc6]"},
		{debian, "/usr/lib/libc.so.6", "[]"},
		{alpine, "/lib/ld-musl.so", "[musl]"},
		{alpine, "/etc/busybox-paths.d/busybox", "[busybox]"},
		{alpine, "/etc/busybox", "[]"},
		{t.TempDir(), "/etc/passwd", "[]"},
	} {
		if got := fmt.Sprint(By(row.root, []string{row.path, "/nothing"})[row.path]); got != row.want {
			t.Errorf("%s: %s, want %s", row.path, got, row.want)
		}
	}
	if err := os.Symlink("usr/bin", filepath.Join(debian, "bin")); err != nil {
		t.Skip(err)
	}
	if got := fmt.Sprint(By(debian, []string{"/usr/lib/libc.so.6"})); got != "map[/usr/lib/libc.so.6:[libc6]]" {
		t.Errorf("where /lib is in /usr: %s", got)
	}
}

// TestLinesThatNeverEnd: a list is another program's file, and may be anything.
func TestLinesThatNeverEnd(t *testing.T) {
	root := machine(t, map[string]string{"var/lib/dpkg/info/odd.list": "/a\n/" + strings.Repeat("b", 1<<20) + "\n\n\x00\n"})
	if got := fmt.Sprint(By(root, []string{"/a"})); got != "map[/a:[odd]]" {
		t.Error(got)
	}
}
