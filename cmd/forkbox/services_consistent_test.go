//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/services/servicetest"
)

// longServicesVar asks for the long form: each way is taken twenty times. make
// services sets it.
const longServicesVar = "SERVICES"

func rounds() int {
	if os.Getenv(longServicesVar) != "" {
		return 20
	}
	return 1
}

// A bank is an engine whose data is written to at random, and always adds up.
type bank interface {
	// name is what the service goes by with --with.
	name() string
	// load has it be used until the test ends.
	load(t *testing.T)
	// check asks the copy in a box whether it is whole, with the engine's own
	// checker, and whether it adds up.
	check(ask func(argv ...string) (string, error)) error
}

// TestServicesAreConsistent: whatever the way, what a box begins with is whole and
// adds up, of each engine, also when all are copied together.
func TestServicesAreConsistent(t *testing.T) {
	for _, c := range []struct {
		name, filesystem, way string
		banks                 func(t *testing.T, dir string) []bank
	}{
		{"snapshot of all", "btrfs", "snapshot", allBanks},
		{"snapshot without a stop", "btrfs", "snapshot", durableBanks},
		{"reflink of all", "xfs", "reflink", allBanks},
		{"delta of all", "ext4", "delta", allBanks},
		{"PostgreSQL online", "ext4", "online", replicatedBanks},
		{"Redis online", "ext4", "online", func(t *testing.T, dir string) []bank { return []bank{newRedisBank(t, dir, false)} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inMountsOfItsOwn(t, func(t *testing.T) {
				w := newBankWorld(t, c.filesystem)
				w.banks = c.banks(t, w.dir)
				for _, b := range w.banks {
					b.load(t)
				}
				stops := c.way != "online" && c.name != "snapshot without a stop"
				for i := range rounds() {
					w.round(i, c.way, stops)
				}
			})
		})
	}
}

// bankWorld is a forkbox whose store is on the filesystem that has the data.
type bankWorld struct {
	*limitWorld
	dir   string
	banks []bank
}

func newBankWorld(t *testing.T, filesystem string) *bankWorld {
	t.Helper()
	for _, program := range []string{"postgres", "mariadbd", "redis-server", "sqlite3", "mkfs." + filesystem} {
		if program == "postgres" {
			servicetest.PostgreSQLProgram(t, program)
		} else if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: scripts/deps installs it", program)
		}
	}
	top := mountOwn(t, filesystem)
	w := &bankWorld{limitWorld: newLimitWorldIn(t, top, calm), dir: filepath.Join(top, "data")}
	servicetest.MakeDir(t, w.dir)
	return w
}

// mountOwn mounts a disk of its own.
func mountOwn(t *testing.T, filesystem string) (mnt string) {
	t.Helper()
	dir := servicesDir(t)
	good(t, os.Chmod(dir, 0o755))
	image, mnt := filepath.Join(dir, "image"), filepath.Join(dir, "m")
	good(t, os.WriteFile(image, nil, 0o600))
	good(t, os.Truncate(image, 8<<30))
	good(t, os.Mkdir(mnt, 0o755))
	for _, argv := range [][]string{{"mkfs." + filesystem, "-q", image}, {"mount", "-o", "loop", image, mnt}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
	t.Cleanup(func() { good(t, unix.Unmount(mnt, unix.MNT_DETACH)) })
	return mnt
}

// round takes the data anew, has a box begin with it, and looks at it there.
func (w *bankWorld) round(i int, way string, stops bool) {
	w.Helper()
	var names []string
	for _, b := range w.banks {
		names = append(names, b.name())
	}
	began := time.Now()
	var taken struct{ Stills []forkbox.Still }
	w.ok(json.Unmarshal([]byte(w.must(append([]string{"services", "refresh", "--json", "--pause", "1m"}, names...)...)), &taken))
	if len(taken.Stills) != len(names) {
		w.Errorf("there are %d stills of %q", len(taken.Stills), names)
	}
	for _, s := range taken.Stills {
		way, stops := way, stops
		if strings.HasPrefix(s.Service, "redis") && !strings.Contains(s.Of, "appendonlydir") { // what it has is in memory
			way, stops = "online", false
		}
		if s.Way != way || (s.Paused > 0) != stops || s.Bytes == 0 || !s.Ready {
			w.Errorf("%s was copied so: %+v", s.Service, s)
		}
	}
	box := fmt.Sprint("bank-", i)
	w.must("new", "--name", box, "--with", strings.Join(names, ","))
	ask := func(argv ...string) (string, error) {
		out, err := w.command(append([]string{"exec", box, "--"}, argv...)...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%q: %w\n%s", argv, err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	for _, b := range w.banks {
		if err := b.check(ask); err != nil {
			w.Errorf("round %d, %s: %v", i, b.name(), err)
		}
	}
	w.must("rm", "-f", box)
	w.Logf("round %d: paused %s, all in %s", i, taken.Stills[0].Paused.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

func allBanks(t *testing.T, dir string) []bank {
	return append(durableBanks(t, dir), newRedisBank(t, dir, false), newRedisBank(t, dir, true), newLiteBank(t, dir, "wal"), newLiteBank(t, dir, "delete"))
}

func durableBanks(t *testing.T, dir string) []bank {
	return []bank{newPostgresBank(t, dir, true), newMariaBank(t, dir)}
}

func replicatedBanks(t *testing.T, dir string) []bank {
	b := newPostgresBank(t, dir, false)
	servicetest.Run(t, b.PSQL(fmt.Sprintf("create role %q replication login", servicetest.NobodyName()))...)
	return []bank{b}
}

// postgresBank is that of pgbench: what accounts, tellers and branches have adds up
// to what was moved.
type postgresBank struct{ *servicetest.Server }

func newPostgresBank(t *testing.T, dir string, apart bool) postgresBank {
	b := postgresBank{servicetest.Cluster(t, dir, "postgresql", apart, "")}
	servicetest.Run(t, b.PSQL("create extension amcheck")...)
	servicetest.RunPostgreSQL(t, "pgbench", "-h", b.Dir, "-U", "me", "-i", "-s", "1", "-q", "postgres")
	return b
}

func (b postgresBank) name() string { return b.Data() }

func (b postgresBank) load(t *testing.T) {
	cmd := servicetest.PostgreSQLCommand(t, "pgbench", "-h", b.Dir, "-U", "me", "-n", "-c", "2", "-R", "200", "-T", "100000", "postgres")
	good(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for servicetest.Run(t, b.PSQL("select count(*) from pgbench_history")...) == "0" {
		time.Sleep(time.Millisecond)
	}
}

func (b postgresBank) check(ask func(...string) (string, error)) error {
	out, err := ask(b.PSQL("select sum(abalance), (select sum(bbalance) from pgbench_branches), (select sum(tbalance) from pgbench_tellers), (select sum(delta) from pgbench_history) from pgbench_accounts")...)
	if err != nil {
		return err
	}
	if sums := strings.Split(out, "|"); len(sums) != 4 || sums[0] == "" || len(slices.Compact(sums)) != 1 {
		return fmt.Errorf("the sums differ: %s", out)
	}
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_amcheck")
	if len(programs) == 0 {
		return errors.New("there is no pg_amcheck")
	}
	_, err = ask(programs[len(programs)-1], "-h", b.Dir, "-U", "me", "--heapallindexed", "postgres")
	return err
}

// mariaBank moves money between accounts, which stay at nothing together.
type mariaBank struct{ *servicetest.Server }

const accounts = 1000

func newMariaBank(t *testing.T, dir string) mariaBank {
	b := mariaBank{servicetest.MariaDB(t, dir)}
	servicetest.Run(t, b.SQL("create database bank")...)
	servicetest.Run(t, b.SQL("use bank; create table accounts (id int primary key, balance bigint) engine=InnoDB as select seq as id, 0 as balance from seq_1_to_1000")...)
	servicetest.Run(t, b.SQL("create table bank.moves (n int auto_increment primary key, pad varchar(3000), key (pad(20))) engine=InnoDB")...)
	return b
}

func (b mariaBank) name() string { return b.Data() }

func (b mariaBank) load(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	servicetest.Feed(t, func(int) string {
		a, to, n := 1+r.IntN(accounts), 1+r.IntN(accounts), 1+r.IntN(100)
		return fmt.Sprintf("begin; update bank.accounts set balance = balance - %d where id = %d; update bank.accounts set balance = balance + %d where id = %d;"+
			" insert into bank.moves (pad) values (repeat('%d', %d)); commit;", n, a, n, to, n, 1+r.IntN(900))
	}, b.SQLClient()...)
	for servicetest.Run(t, b.SQL("select count(*) from bank.moves")...) == "0" {
		time.Sleep(time.Millisecond)
	}
}

func (b mariaBank) check(ask func(...string) (string, error)) error {
	out, err := ask(b.SQL("select sum(balance), (select count(*) > 0 from bank.moves) from bank.accounts")...)
	if err != nil {
		return err
	}
	if out != "0\t1" {
		return fmt.Errorf("the sum is %q", out)
	}
	out, err = ask(b.SQL("check table bank.accounts, bank.moves extended")...)
	if err == nil && strings.Count(out, "status\tOK") != 2 {
		err = errors.New(out)
	}
	return err
}

// redisBank counts twice in one transaction.
type redisBank struct{ *servicetest.Server }

func newRedisBank(t *testing.T, dir string, log bool) redisBank {
	return redisBank{servicetest.Redis(t, dir, log)}
}

func (b redisBank) name() string { return b.Port }

func (b redisBank) load(t *testing.T) {
	servicetest.Feed(t, func(n int) string {
		return fmt.Sprintf("multi\nincr a\nset pad:%d %s\nincr b\nexec", n%5000, strings.Repeat("x", n%500))
	}, b.Redis()...)
	for servicetest.Run(t, b.Redis("get", "b")...) == "" {
		time.Sleep(time.Millisecond)
	}
}

func (b redisBank) check(ask func(...string) (string, error)) error {
	out, err := ask(b.Redis("mget", "a", "b")...)
	if err != nil {
		return err
	}
	if n := strings.Fields(out); len(n) != 2 || n[0] != n[1] {
		return fmt.Errorf("the counters are %q", out)
	}
	return nil
}

// liteBank is a program that has an SQLite database open.
type liteBank struct{ *servicetest.Server }

func newLiteBank(t *testing.T, dir, mode string) liteBank {
	return liteBank{servicetest.SQLite(t, dir, mode)}
}

func (b liteBank) name() string { return b.Port }

func (b liteBank) load(t *testing.T) {
	b.Tell("move\n")
	for servicetest.Run(t, b.query("select count(*) from moves")...) == "0" {
		time.Sleep(time.Millisecond)
	}
}

func (b liteBank) query(text string) []string {
	return []string{"sqlite3", "-cmd", ".timeout 60000", b.Database(), text}
}

func (b liteBank) check(ask func(...string) (string, error)) error {
	out, err := ask(b.query("pragma integrity_check; select sum(balance), (select count(*) > 0 from moves) from accounts")...)
	if err == nil && out != "ok\n0|1" {
		err = errors.New(out)
	}
	return err
}
