// Package servicetest starts real services for tests.
package servicetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody runs PostgreSQL for tests of root's, which it refuses to run as.
const nobody = 65534

// PostgreSQL starts one, without a port: dir has its socket, and data and wal are
// its directories. It ends with the test.
func PostgreSQL(t *testing.T) (dir, data, wal string) {
	t.Helper()
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(programs) == 0 {
		t.Skip("PostgreSQL is not installed: apt-get install postgresql")
	}
	// Not in the test's own directory, whose path is too long for a socket.
	dir, err := os.MkdirTemp("/tmp", "fbtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(programs[len(programs)-1], name), args...)
		cmd.Dir = dir
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	data, wal = filepath.Join(dir, "data"), filepath.Join(dir, "wal")
	run("initdb", "-D", data, "-X", wal, "-U", "me", "--auth", "trust", "--no-sync")
	run("pg_ctl", "-D", data, "-w", "-t", "120", "-l", filepath.Join(dir, "log"), "-o", "-F -h '' -k "+dir, "start")
	t.Cleanup(func() { run("pg_ctl", "-D", data, "-w", "-t", "120", "-m", "immediate", "stop") })
	return dir, data, wal
}

// Sum is what lies below a directory, in one word: the names and sizes of its files
// and what is in them.
func Sum(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `cd "$1" && find . -type f ! -name 'pg_stat*' ! -path './pg_wal/*' ! -name postmaster.pid -print0 | sort -z | xargs -0 sha256sum | sha256sum`, "sh", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
