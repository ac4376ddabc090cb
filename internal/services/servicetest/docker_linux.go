package servicetest

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Docker is an engine of a test's own, in a network of its own: none of its bridges
// and ports are the machine's.
type Docker struct {
	*testing.T
	Socket string
	PID    int
	dir    string
	group  string // the control group that its containers are in
}

// StartDocker starts an engine that has one image, "services": PostgreSQL and what
// busybox has. It ends with the test, and leaves nothing.
func StartDocker(t *testing.T) *Docker {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("an engine of the test's own takes root")
	}
	for _, program := range []string{"dockerd", "docker", "busybox"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed: apt-get install docker.io busybox-static")
		}
	}
	// Not in the test's own directory, whose path is too long for a socket; and not
	// on a filesystem in memory, which may not take what it keeps.
	dir, err := os.MkdirTemp("/var/tmp", "fbtest-docker-")
	if err != nil {
		t.Fatal(err)
	}
	d := &Docker{T: t, Socket: filepath.Join(dir, "docker.sock"), dir: dir, group: filepath.Base(dir)}
	t.Cleanup(d.clear)
	d.start()
	d.importImage()
	return d
}

func (d *Docker) start() {
	d.Helper()
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		d.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("sh", "-c", `ip link set lo up && exec dockerd --data-root "$1/data" --exec-root "$1/exec" -p "$1/pid" -H "unix://$1/docker.sock" `+
		`--exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$2" --iptables=false --ip-masq=false --ip-forward=false`, "sh", d.dir, d.group)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET, Setsid: true}
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	d.PID = cmd.Process.Pid
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	d.Cleanup(func() {
		if ids := strings.Fields(d.Run("ps", "-aq")); len(ids) > 0 {
			d.Run(append([]string{"rm", "-f", "-v"}, ids...)...)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	for {
		if conn, err := net.Dial("unix", d.Socket); err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			d.Fatalf("dockerd ended:\n%s", text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// clear removes what the engine leaves behind.
func (d *Docker) clear() {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], d.dir+"/") {
			_ = syscall.Unmount(f[4], syscall.MNT_DETACH)
		}
	}
	if err := os.RemoveAll(d.dir); err != nil {
		d.Error(err)
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + d.group)
	for _, group := range append(groups, "/sys/fs/cgroup/"+d.group) {
		_ = filepath.WalkDir(group, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && path != group {
				_ = os.Remove(path)
			}
			return nil
		})
		_ = os.Remove(group)
	}
}

// Run runs docker.
func (d *Docker) Run(args ...string) string {
	d.Helper()
	cmd := exec.Command("docker", append([]string{"-H", "unix://" + d.Socket}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		d.Fatalf("docker %q: %v\n%s", args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// Inside is a command that is run in the engine's network, which the ports of its
// containers are in.
func (d *Docker) Inside(argv ...string) []string {
	return append([]string{"nsenter", "-t", strconv.Itoa(d.PID), "-n", "--"}, argv...)
}

// Init is the first process of a container.
func (d *Docker) Init(container string) int {
	d.Helper()
	pid, err := strconv.Atoi(d.Run("inspect", "-f", "{{.State.Pid}}", container))
	if err != nil || pid == 0 {
		d.Fatalf("%s does not run: %v\n%s", container, err, d.Run("logs", container))
	}
	return pid
}

// RunPostgreSQL runs a container with a PostgreSQL, and waits until it answers.
func (d *Docker) RunPostgreSQL(name, volume string, more ...string) {
	d.Helper()
	args := []string{"run", "-d", "--name", name, "--stop-signal", "SIGINT", "-v", volume + ":/var/lib/postgresql/data",
		"-e", "POSTGRES_PASSWORD=s3cret-of-the-test", "-e", "GREETING=hello"}
	d.Run(append(append(args, more...), "services", "postgres", "-c", "archive_mode=on", "-c", "archive_command=touch /var/lib/postgresql/data/archived")...)
	for exec.Command("docker", "-H", "unix://"+d.Socket, "exec", name, postgresDir(d.T)+"/pg_isready", "-q", "-h", "127.0.0.1").Run() != nil {
		d.Init(name) // it runs
		time.Sleep(20 * time.Millisecond)
	}
}

// entry is the image's entrypoint, which does as those of official images do.
const entry = `#!/bin/sh
set -e
if [ "$1" = postgres ]; then
  shift
  if [ ! -s "$PGDATA/PG_VERSION" ]; then
    [ -n "$POSTGRES_PASSWORD" ] || { echo "POSTGRES_PASSWORD is not set"; exit 1; }
    PROGRAMS/initdb -D "$PGDATA" -U postgres --auth trust --no-sync --locale C >/dev/null
    echo 'host all all all trust' >>"$PGDATA/pg_hba.conf"
  fi
  exec PROGRAMS/postgres -D "$PGDATA" -c 'listen_addresses=*' "$@"
fi
exec "$@"
`

func postgresDir(t *testing.T) string {
	t.Helper()
	return filepath.Dir(PostgreSQLCommand(t, "postgres").Path)
}

// importImage makes the image of what this machine has installed.
func (d *Docker) importImage() {
	d.Helper()
	programs := postgresDir(d.T)
	var files []string
	for _, name := range []string{"postgres", "initdb", "psql", "pg_isready"} {
		files = append(files, filepath.Join(programs, name))
	}
	libs := filepath.Join(filepath.Dir(programs), "lib")
	files = append(files, filepath.Join(libs, "plpgsql.so"), filepath.Join(libs, "dict_snowball.so"))
	var image bytes.Buffer
	tw := tar.NewWriter(&image)
	a := archive{d.T, tw, map[string]bool{}}
	for _, file := range append(files, a.libraries(files)...) {
		a.file(file)
	}
	busybox, _ := exec.LookPath("busybox")
	a.as(busybox, "/bin/busybox")
	for _, name := range []string{"sh", "cat", "chmod", "id", "env", "sleep", "httpd", "nc", "touch", "locale"} {
		a.put(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "/bin/busybox", Mode: 0o777}, nil)
	}
	a.text("/bin/entry", 0o755, strings.ReplaceAll(entry, "PROGRAMS", programs))
	a.text("/etc/passwd", 0o644, "root:x:0:0:root:/root:/bin/sh\npostgres:x:70:70::/var/lib/postgresql:/bin/sh\n")
	a.text("/etc/group", 0o644, "root:x:0:\npostgres:x:70:\n")
	a.put(&tar.Header{Typeflag: tar.TypeDir, Name: "var/lib/postgresql/data", Mode: 0o700, Uid: 70, Gid: 70}, nil)
	a.put(&tar.Header{Typeflag: tar.TypeDir, Name: "run/postgresql", Mode: 0o755, Uid: 70, Gid: 70}, nil)
	a.put(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp", Mode: 0o1777}, nil)
	a.put(&tar.Header{Typeflag: tar.TypeSymlink, Name: "var/run", Linkname: "/run", Mode: 0o777}, nil)
	a.tree("/usr/share/postgresql")
	if err := tw.Close(); err != nil {
		d.Fatal(err)
	}
	cmd := exec.Command("docker", "-H", "unix://"+d.Socket, "import", "-c", "ENV PGDATA=/var/lib/postgresql/data", "-c", `ENTRYPOINT ["/bin/entry"]`,
		"-c", "USER postgres", "-c", "EXPOSE 5432", "-", "services")
	cmd.Stdin = &image
	if out, err := cmd.CombinedOutput(); err != nil {
		d.Fatalf("docker import: %v\n%s", err, out)
	}
}

// archive is an image while it is made.
type archive struct {
	*testing.T
	to  *tar.Writer
	has map[string]bool
}

func (a archive) put(h *tar.Header, content []byte) {
	a.Helper()
	if a.has[h.Name] {
		return
	}
	a.has[h.Name] = true
	h.Size = int64(len(content))
	if err := a.to.WriteHeader(h); err != nil {
		a.Fatal(err)
	}
	if _, err := a.to.Write(content); err != nil {
		a.Fatal(err)
	}
}

func (a archive) text(path string, mode int64, content string) {
	a.put(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(path, "/"), Mode: mode}, []byte(content))
}

func (a archive) file(path string) { a.as(path, path) }

// as puts what a path leads to under another.
func (a archive) as(path, name string) {
	a.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		a.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		a.Fatal(err)
	}
	a.put(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: int64(info.Mode().Perm())}, content)
}

// tree puts the files below a directory.
func (a archive) tree(dir string) {
	a.Helper()
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.Contains(path, "/man/") {
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				a.file(path)
			}
		}
		return nil
	})
}

// libraries are those that programs need.
func (a archive) libraries(programs []string) (all []string) {
	a.Helper()
	out, err := exec.Command("ldd", programs...).Output()
	if err != nil {
		a.Fatalf("ldd: %v", err)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if filepath.IsAbs(word) && !strings.HasSuffix(word, ":") {
			all = append(all, word)
		}
	}
	return all
}
