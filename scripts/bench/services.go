package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	casePgCtl     = "pg_ctl start, stopped cleanly, 1 GB"
	caseSecondBox = "new --with PostgreSQL of 1 GB, from a still, until it is ready"
	casePause     = "PostgreSQL of 1 GB stands still for a copy, written to, store on XFS"
	caseBoxDisk   = "disk of a second box with PostgreSQL before it writes, of the still"
)

// writerCase is how long a transaction takes while something else is done.
func writerCase(what string) string { return "a transaction, " + what + ", p99" }

// servicesArg as the first argument says that this program measures services in
// mounts of its own.
const servicesArg = "services-in-mounts-of-their-own"

// servicesBench measures copies of a PostgreSQL of 1 GB, with the data and the store
// on one XFS. That is mounted where only a process of ours sees it, and is gone with
// it.
func servicesBench(ctx context.Context, d *daemon, r *report, _ int) error {
	if why := servicesMissing(); why != nil {
		r.missing("services", why)
		return nil
	}
	dir, err := os.MkdirTemp("", "fbtest-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", servicesArg, dir, d.binary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // Go makes them private
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("services: %w", err)
	}
	var rows []row
	if err := json.Unmarshal(out, &rows); err != nil {
		return err
	}
	r.Rows = append(r.Rows, rows...)
	return nil
}

func servicesMissing() error {
	if os.Geteuid() != 0 {
		return errors.New("only root can mount a disk")
	}
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		return err
	}
	if pgProgram("postgres") == "" {
		return errors.New("PostgreSQL is not installed")
	}
	return nil
}

func (r *report) judgeServices() {
	r.want("second box with PostgreSQL of 1 GB / pg_ctl start", 3, r.median(caseSecondBox)/r.median(casePgCtl), "×")
	r.want("its disk before it writes, of the still", 1, r.median(caseBoxDisk), "%")
	r.want("pause for 1 GB where the store shares blocks", 500, r.median(casePause), "ms")
}

// servicesInside is what runs there.
func servicesInside(dir, binary string) error {
	ctx, stop := signalled()
	defer stop()
	mnt := filepath.Join(dir, "m")
	image := filepath.Join(dir, "image")
	for _, step := range []func() error{
		func() error { return os.WriteFile(image, nil, 0o600) },
		func() error { return os.Truncate(image, 16<<30) },
		func() error { return os.Mkdir(mnt, 0o755) },
		func() error { return quietly(exec.CommandContext(ctx, "mkfs.xfs", "-q", image)) },
		func() error { return quietly(exec.CommandContext(ctx, "mount", "-o", "loop", image, mnt)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	defer unix.Unmount(mnt, unix.MNT_DETACH)
	if err := os.Setenv("TMPDIR", mnt); err != nil { // the store lies there
		return err
	}
	c := &cluster{ctx: ctx, dir: filepath.Join(mnt, "pg")}
	if err := c.make(); err != nil {
		return err
	}
	defer c.stop(c.data())
	d, err := startDaemon(ctx, binary)
	if err != nil {
		return err
	}
	defer d.stop()
	r := &report{}
	if err := errors.Join(c.starts(d, r), c.writes(d, r)); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r.Rows)
}

// cluster is a PostgreSQL that runs as nobody.
type cluster struct {
	ctx context.Context
	dir string
}

const nobody = 65534

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// twin is a copy that was stopped cleanly.
func (c *cluster) twin() string { return filepath.Join(c.dir, "twin") }

func (c *cluster) run(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.ctx, pgProgram(name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func pgProgram(name string) string {
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(programs) == 0 {
		return ""
	}
	return programs[len(programs)-1]
}

// make makes one of 1 GB, with a copy that was stopped cleanly.
func (c *cluster) make() error {
	if err := errors.Join(os.Mkdir(c.dir, 0o755), os.Chown(c.dir, nobody, nobody)); err != nil {
		return err
	}
	const gigabyte = "68" // of pgbench's branches
	for _, step := range []func() error{
		func() error {
			return quietly(c.run("initdb", "-D", c.data(), "-U", "me", "--auth", "trust", "--no-sync"))
		},
		func() error { return c.start(c.data(), c.dir) },
		func() error {
			return quietly(c.run("pgbench", "-h", c.dir, "-U", "me", "-i", "-s", gigabyte, "-q", "postgres"))
		},
		func() error { return quietly(c.run("psql", "-h", c.dir, "-U", "me", "-c", "checkpoint", "postgres")) },
		func() error { c.stop(c.data()); return nil },
		func() error {
			return quietly(exec.CommandContext(c.ctx, "cp", "-a", "--reflink=always", c.data(), c.twin()))
		},
		func() error { return errors.Join(os.Mkdir(c.other(), 0o755), os.Chown(c.other(), nobody, nobody)) },
		func() error { return c.start(c.data(), c.dir) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// other has the socket of the twin.
func (c *cluster) other() string { return filepath.Join(c.dir, "other") }

func (c *cluster) start(data, socket string) error {
	return quietly(c.run("pg_ctl", "-D", data, "-w", "-t", "300", "-l", data+".log", "-o", "-h '' -k "+socket, "start"))
}

func (c *cluster) stop(data string) {
	cmd := c.run("pg_ctl", "-D", data, "-w", "-t", "300", "-m", "fast", "stop")
	cmd.Cancel = nil
	_ = cmd.Run()
}

// starts measures a box from a still beside a start of a server that was stopped.
func (c *cluster) starts(d *daemon, r *report) error {
	if err := d.cli("services", "refresh", "--pause", "1m", c.data()); err != nil {
		return err
	}
	with := func(name string) error { return d.cli("new", "--name", name, "--with", c.data()) }
	if err := with("first"); err != nil {
		return err
	}
	var shares []time.Duration
	still, err := dirBlocks(c.twin())
	if err != nil {
		return err
	}
	var before uint64
	boxed := &measured{name: caseSecondBox, quiet: settle, before: func() (err error) { before, err = freeBytes(c.dir); return err }, do: func() error { return with("second") }, after: func() error {
		now, err := freeBytes(c.dir)
		if err != nil {
			return err
		}
		used := max(0, int64(before)-int64(now))
		shares = append(shares, time.Duration(float64(used)/float64(still)*100*float64(time.Millisecond)))
		return d.cli("rm", "-f", "second")
	}}
	bare := &measured{name: casePgCtl, quiet: settle, do: func() error { return c.start(c.twin(), c.other()) }, after: func() error { c.stop(c.twin()); return nil }}
	if err := interleave(7, []*measured{bare, boxed}); err != nil {
		return err
	}
	r.add(bare.name, bare.times, "")
	r.add(boxed.name, boxed.times, fmt.Sprintf("%.1f × pg_ctl", quantile(boxed.times, 0.5)/quantile(bare.times, 0.5)))
	r.Rows = append(r.Rows, row{Name: caseBoxDisk, Count: len(shares), Median: quantile(shares, 0.5), P95: quantile(shares, 0.95), Unit: "%"})
	return d.cli("rm", "-f", "first")
}

// freeBytes is what is left of a filesystem, once all is on its disk.
func freeBytes(dir string) (uint64, error) {
	f, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return 0, err
	}
	var st unix.Statfs_t
	err = unix.Fstatfs(int(f.Fd()), &st)
	return st.Bfree * uint64(st.Bsize), err
}

func dirBlocks(dir string) (uint64, error) {
	out, err := exec.Command("du", "-s", "--block-size=1", dir).Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.Fields(string(out))[0], 10, 64)
}

// span is for how long transactions are measured beside each way to copy.
const span = 20 * time.Second

// writes measures transactions while the database is copied again and again.
func (c *cluster) writes(d *daemon, r *report) error {
	var pauses []time.Duration
	for _, beside := range []struct {
		what string
		do   func(n int) error
	}{
		{"nothing beside it", nil},
		{"while forkbox copies", func(int) error {
			paused, err := c.refresh(d)
			pauses = append(pauses, paused)
			return err
		}},
		{"while pg_basebackup copies", func(n int) error {
			to := filepath.Join(c.dir, fmt.Sprint("backup-", n))
			defer os.RemoveAll(to)
			return quietly(c.run("pg_basebackup", "-h", c.dir, "-U", "me", "-D", to, "-c", "fast", "-X", "stream"))
		}},
		{"while cp copies (torn)", func(n int) error {
			to := filepath.Join(c.dir, fmt.Sprint("cp-", n))
			defer os.RemoveAll(to)
			_ = exec.CommandContext(c.ctx, "cp", "-a", "--reflink=never", c.data(), to).Run() // files vanish
			return nil
		}},
	} {
		times, copies, err := c.transactions(beside.do)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row{Name: writerCase(beside.what), Count: len(times), Median: quantile(times, 0.99), P95: quantile(times, 1),
			Note: fmt.Sprintf("%d copies; median %.1f; the second column is the longest", copies, quantile(times, 0.5))})
	}
	r.add(casePause, pauses, "")
	return nil
}

// refresh takes the data anew, and says for how long the service stood still.
func (c *cluster) refresh(d *daemon) (time.Duration, error) {
	cmd := exec.CommandContext(c.ctx, d.binary, "services", "refresh", "--json", "--pause", "1m", c.data())
	cmd.Env = d.env
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	var taken struct {
		Stills []struct {
			Way    string        `json:"way"`
			Paused time.Duration `json:"paused_ns"`
		}
	}
	if err := json.Unmarshal(out, &taken); err != nil || len(taken.Stills) != 1 || taken.Stills[0].Way != "reflink" {
		return 0, fmt.Errorf("it was copied so: %s", out)
	}
	return taken.Stills[0].Paused, nil
}

// transactions has a hundred be made in a second, and do something again and again
// meanwhile.
func (c *cluster) transactions(do func(n int) error) (times []time.Duration, copies int, err error) {
	prefix := filepath.Join(c.dir, "log")
	stale, _ := filepath.Glob(prefix + ".*")
	for _, name := range stale {
		_ = os.Remove(name)
	}
	cmd := c.run("pgbench", "-h", c.dir, "-U", "me", "-n", "-c", "2", "-R", "100", "-T", strconv.Itoa(int(span.Seconds())), "-l", "--log-prefix", prefix, "postgres")
	done := make(chan error, 1)
	go func() { done <- quietly(cmd) }()
	for n := 0; do != nil; n++ {
		select {
		case err := <-done:
			if err != nil {
				return nil, 0, err
			}
			times, err = latencies(prefix)
			return times, n, err
		default:
		}
		if err := do(n); err != nil {
			return nil, 0, errors.Join(err, <-done)
		}
	}
	if err := <-done; err != nil {
		return nil, 0, err
	}
	times, err = latencies(prefix)
	return times, 0, err
}

// latencies are those of pgbench's logs: a transaction a line, with the microseconds
// that it took from when it was due.
func latencies(prefix string) (all []time.Duration, err error) {
	names, err := filepath.Glob(prefix + ".*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		for in := bufio.NewScanner(f); in.Scan(); {
			if words := strings.Fields(in.Text()); len(words) > 2 {
				n, err := strconv.ParseInt(words[2], 10, 64)
				if err == nil {
					all = append(all, time.Duration(n)*time.Microsecond)
				}
			}
		}
		f.Close()
	}
	slices.Sort(all)
	if len(all) == 0 {
		return nil, errors.New("pgbench made no transactions")
	}
	return all, nil
}
