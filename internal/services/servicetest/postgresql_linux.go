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
	dir = PostgreSQLDir(t)
	data, wal = filepath.Join(dir, "data"), filepath.Join(dir, "wal")
	RunPostgreSQL(t, "initdb", "-D", data, "-X", wal, "-U", "me", "--auth", "trust", "--no-sync")
	StartPostgreSQL(t, dir, data)
	return dir, data, wal
}

// PostgreSQLWhole starts one that has everything in its data directory.
func PostgreSQLWhole(t *testing.T) (dir, data string) {
	t.Helper()
	dir = PostgreSQLDir(t)
	data = filepath.Join(dir, "data")
	RunPostgreSQL(t, "initdb", "-D", data, "-U", "me", "--auth", "trust", "--no-sync")
	StartPostgreSQL(t, dir, data)
	return dir, data
}

// StartPostgreSQL starts one on a data directory that there is, with its socket in
// dir.
func StartPostgreSQL(t *testing.T, dir, data string) {
	t.Helper()
	RunPostgreSQL(t, "pg_ctl", "-D", data, "-w", "-t", "120", "-l", filepath.Join(dir, "log"), "-o", "-F -h '' -k "+dir, "start")
	t.Cleanup(func() { RunPostgreSQL(t, "pg_ctl", "-D", data, "-w", "-t", "120", "-m", "immediate", "stop") })
}

// PostgreSQLDir makes a directory for one. It is not in the test's own, whose path
// is too long for a socket.
func PostgreSQLDir(t *testing.T) string {
	t.Helper()
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
	return dir
}

// RunPostgreSQL runs one of its programs to its end, and gives what it says.
func RunPostgreSQL(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := PostgreSQLCommand(t, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// PostgreSQLCommand is one of its programs, to be run as the user that the server
// runs as.
func PostgreSQLCommand(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(PostgreSQLProgram(t, name), args...)
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// PostgreSQLProgram is where one of its programs is.
func PostgreSQLProgram(t *testing.T, name string) string {
	t.Helper()
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(programs) == 0 {
		t.Skip("PostgreSQL is not installed: apt-get install postgresql")
	}
	return filepath.Join(programs[len(programs)-1], name)
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
