package servicetest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a real service that a test has started. It ends with the test.
type Server struct {
	t    *testing.T
	Dir  string // what is its own lies here
	Port string // on the loopback
	PID  int
	out  bytes.Buffer
}

// patience is how long a server may take until it answers: it is only waited for so
// long when a test fails.
const patience = 2 * time.Minute

// newServer prepares one below a directory, in one of its own.
func newServer(t *testing.T, below, name string) *Server {
	t.Helper()
	s := &Server{t: t, Dir: filepath.Join(below, name), Port: FreePort(t)}
	MakeDir(t, s.Dir)
	return s
}

// MakeDir makes a directory that the servers of tests may write to.
func MakeDir(t *testing.T, dir string) {
	t.Helper()
	ok(t, os.Mkdir(dir, 0o755))
	if os.Getuid() == 0 {
		ok(t, os.Chown(dir, nobody, nobody))
	}
}

// start starts it, and waits until it answers.
func (s *Server) start(answers func() error, argv ...string) *Server {
	s.t.Helper()
	return s.startAs(asNobody(), answers, argv...)
}

func (s *Server) startAs(who *syscall.Credential, answers func() error, argv ...string) *Server {
	s.t.Helper()
	cmd := exec.Command(need(s.t, argv[0]), argv[1:]...)
	cmd.Dir = s.Dir
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who, Setpgid: true}
	ok(s.t, cmd.Start())
	s.PID = cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	s.t.Cleanup(func() {
		_ = syscall.Kill(-s.PID, syscall.SIGKILL)
		<-ended
	})
	var err error
	for began := time.Now(); time.Since(began) < patience; time.Sleep(5 * time.Millisecond) {
		if err = answers(); err == nil {
			return s
		}
		select {
		case <-ended:
			s.t.Fatalf("%q ended:\n%s", argv, s.out.String())
		default:
		}
	}
	s.t.Fatalf("%q does not answer: %v", argv, err)
	return s
}

// need is where a program of a package is.
func need(t *testing.T, name string) string {
	t.Helper()
	if filepath.IsAbs(name) {
		return name
	}
	for _, dir := range []string{"/usr/bin", "/usr/sbin"} {
		if path := filepath.Join(dir, name); executable(path) {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: scripts/deps installs it", name)
	}
	return path
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// asNobody is who servers run as that refuse to run as root.
func asNobody() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: nobody, Gid: nobody}
}

// NobodyName is the name of who they run as, "" where that is the caller.
func NobodyName() string {
	if os.Getuid() != 0 {
		return ""
	}
	if u, err := user.LookupId(strconv.Itoa(nobody)); err == nil {
		return u.Username
	}
	return ""
}

// knock is a server that takes connections.
func (s *Server) knock() error {
	conn, err := net.Dial("tcp", "127.0.0.1:"+s.Port)
	if err == nil {
		conn.Close()
	}
	return err
}

// Run runs a command to its end as the servers' user, and gives what it says.
func Run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := try(t, argv...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return out
}

func try(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(need(t, argv[0]), argv[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: asNobody()}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// pace leaves something of the machine to others.
const pace = 2 * time.Millisecond

// Feed runs a client that reads commands, and has it be given some until the test
// ends, or stop is called.
func Feed(t *testing.T, next func(n int) string, argv ...string) (stop func()) {
	t.Helper()
	cmd := exec.Command(need(t, argv[0]), argv[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: asNobody()}
	in, err := cmd.StdinPipe()
	ok(t, err)
	ok(t, cmd.Start())
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		for n := 1; ; n++ {
			time.Sleep(pace)
			if _, err := io.WriteString(in, next(n)+"\n"); err != nil {
				return
			}
		}
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		<-fed
	}
	t.Cleanup(stop)
	return stop
}

// FreePort is a port of the loopback that nobody listens on.
func FreePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants is an error unless an answer is what it has to be.
func wants(got, want string, err error) error {
	if err == nil && !strings.Contains(got, want) {
		err = errors.New("it says " + strconv.Quote(got))
	}
	return err
}
