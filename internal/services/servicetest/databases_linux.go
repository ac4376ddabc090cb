package servicetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Cluster starts a PostgreSQL below a directory, with settings of its own. Its log
// lies beside its data where apart is set, and it is on no port.
func Cluster(t *testing.T, below, name string, apart bool, settings string) *Server {
	t.Helper()
	s := newServer(t, below, name)
	argv := []string{"-D", s.Data(), "-U", "me", "--auth", "trust", "--no-sync"}
	if apart {
		argv = append(argv, "-X", filepath.Join(s.Dir, "wal"))
	}
	RunPostgreSQL(t, "initdb", argv...)
	f, err := os.OpenFile(filepath.Join(s.Data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	ok(t, err)
	_, err = f.WriteString("\nshared_buffers = 16MB\n" + settings + "\n")
	ok(t, err)
	ok(t, f.Close())
	return s.start(func() error {
		_, err := try(t, s.PSQL("select 1")...)
		return err
	}, PostgreSQLProgram(t, "postgres"), "-D", s.Data(), "-h", "", "-k", s.Dir)
}

// PSQL is the command that asks a PostgreSQL, also the one in a box.
func (s *Server) PSQL(query string) []string {
	return []string{"psql", "-X", "-q", "-A", "-t", "-h", s.Dir, "-U", "me", "-d", "postgres", "-c", query}
}

// MariaDB starts one below a directory, with what args say besides.
func MariaDB(t *testing.T, below string, args ...string) *Server {
	t.Helper()
	s := newServer(t, below, "mariadb")
	need(t, "mariadbd")
	Run(t, "mariadb-install-db", "--no-defaults", "--datadir="+s.Data(), "--auth-root-authentication-method=normal", "--skip-test-db")
	argv := []string{"mariadbd", "--no-defaults", "--datadir=" + s.Data(), "--socket=" + s.Socket(), "--port=" + s.Port,
		"--bind-address=127.0.0.1", "--innodb-buffer-pool-size=32M"}
	return s.start(func() error {
		_, err := try(t, s.SQL("select 1")...)
		return err
	}, append(argv, args...)...)
}

// SQL is the command that asks a MariaDB, also the one in a box.
func (s *Server) SQL(query string) []string { return append(s.SQLClient(), "-e", query) }

// SQLClient is the command that reads statements.
func (s *Server) SQLClient() []string {
	return []string{"mariadb", "--no-defaults", "-N", "-B", "-u", "root", "-S", s.Socket()}
}

// Data is its data directory.
func (s *Server) Data() string { return filepath.Join(s.Dir, "data") }

// Socket is its unix socket.
func (s *Server) Socket() string { return filepath.Join(s.Dir, "sock") }

// Redis starts one below a directory, that keeps a log of all commands, or saves
// now and then.
func Redis(t *testing.T, below string, log bool) *Server {
	t.Helper()
	name, yes := "redis", "no"
	if log {
		name, yes = "redis-log", "yes"
	}
	s := newServer(t, below, name)
	return s.start(func() error {
		out, err := try(t, s.Redis("ping")...)
		return wants(out, "PONG", err)
	}, "redis-server", "--port", s.Port, "--bind", "127.0.0.1", "--dir", s.Dir, "--appendonly", yes, "--save", "3600 1", "--repl-diskless-sync-delay", "0")
}

// Redis is the command that tells a Redis something, also the one in a box.
func (s *Server) Redis(args ...string) []string {
	return append([]string{"redis-cli", "-p", s.Port}, args...)
}

// SQLite starts a program that has an SQLite database open and moves money between
// its accounts, all the while that it is told to. mode is that of its journal.
func SQLite(t *testing.T, below, mode string) *Server {
	t.Helper()
	s := newServer(t, below, "sqlite-"+mode)
	return s.start(s.knock, "python3", "-c", sqliteProgram, s.Database(), mode, s.Port)
}

// SQLiteOf starts one that has the database of another open, in the mode of WAL.
func SQLiteOf(t *testing.T, below, name, database string) *Server {
	t.Helper()
	s := newServer(t, below, name)
	return s.start(s.knock, "python3", "-c", sqliteProgram, database, "wal", s.Port)
}

// Database is its file.
func (s *Server) Database() string { return filepath.Join(s.Dir, "bank.db") }

// The program connects once and keeps its connection, as servers do.
const sqliteProgram = `
import random, socket, sqlite3, sys, threading, time
path, mode, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
db.execute("pragma journal_mode=" + mode)
db.execute("create table if not exists accounts (id integer primary key, balance integer)")
db.execute("create table if not exists moves (n integer primary key, pad text)")
db.executemany("insert or ignore into accounts values (?, 0)", [(i,) for i in range(1000)])
def move():
    while True:
        a, b, n = random.randrange(1000), random.randrange(1000), random.randrange(1, 100)
        db.execute("begin immediate")
        db.execute("update accounts set balance = balance - ? where id = ?", (n, a))
        db.execute("update accounts set balance = balance + ? where id = ?", (n, b))
        db.execute("insert into moves (pad) values (?)", ("x" * random.randrange(2000),))
        db.execute("commit")
        time.sleep(0.002)
server = socket.create_server(("127.0.0.1", port))
while True:
    conn, _ = server.accept()
    if conn.recv(10) == b"move\n":
        threading.Thread(target=move, daemon=True).start()
`
