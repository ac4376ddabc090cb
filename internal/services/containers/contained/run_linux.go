package contained

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Run runs the copy at a base: args are the base and the container's command. It
// returns the code to exit with.
func Run(args []string) int {
	code, err := run(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: cannot run the container's copy: %v\n", err)
	}
	return code
}

// failed is the code of what was not started.
const failed = 125

func run(args []string) (int, error) {
	if len(args) < 2 {
		return failed, errors.New("it needs where the copy is, and a command")
	}
	base, argv := args[0], args[1:]
	spec, err := read(base)
	if err != nil {
		return failed, err
	}
	// What is started inherits the mounts of the thread that starts it, and is
	// told when that thread ends.
	runtime.LockOSThread()
	c := &container{Spec: spec, base: base}
	if err := c.mount(); err != nil {
		return failed, err
	}
	if err := c.writeNames(); err != nil {
		return failed, err
	}
	for _, f := range spec.Forward {
		if err := forward(f); err != nil {
			return failed, err
		}
	}
	return c.start(argv)
}

// container is a copy that is being started.
type container struct {
	Spec
	base string
	root int
}

// start runs the command, and passes signals on to it: to it alone, as an engine
// does.
func (c *container) start(argv []string) (int, error) {
	user, err := c.user()
	if err != nil {
		return failed, err
	}
	env := c.environment(os.Environ(), user)
	program, err := c.lookPath(argv[0], env)
	if err != nil {
		return 127, err
	}
	dir := c.Dir
	if dir == "" {
		dir = "/"
	}
	if err := c.makeDir(dir); err != nil {
		return failed, err
	}
	cmd := &exec.Cmd{
		Path: program, Args: argv, Env: env, Dir: dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Chroot: Root(c.base), Credential: user.credential, Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals)
	if err := cmd.Start(); err != nil {
		return 126, err
	}
	go func() {
		for s := range signals {
			if s != syscall.SIGCHLD && s != syscall.SIGURG {
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), fmt.Errorf("it was ended by %s", unix.SignalName(status.Signal()))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return cmd.ProcessState.ExitCode(), err
}

// lookPath finds the program in the container, whose links lead to where they do
// there.
func (c *container) lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join("/", c.Dir, name)
		}
		return name, nil
	}
	for dir := range strings.SplitSeq(get(env, "PATH"), ":") {
		path := filepath.Join("/", dir, name)
		var st unix.Stat_t
		if fd, err := c.open(path); err == nil {
			err = unix.Fstat(fd, &st)
			unix.Close(fd)
			if err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("the container has no program %s in %s", name, get(env, "PATH"))
}

// open finds a path as the container would.
func (c *container) open(path string) (int, error) {
	return unix.Openat2(c.root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
}

// usualPath is what engines give those that have none.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is the container's. What init adds for execs is of no use there.
func (c *container) environment(env []string, user user) []string {
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "FORKBOX_") || strings.HasPrefix(v, "PWD=") })
	for _, v := range []string{"PATH=" + usualPath, "HOSTNAME=" + c.Hostname, "HOME=" + user.home} {
		if name, _, _ := strings.Cut(v, "="); get(env, name) == "" {
			env = append(env, v)
		}
	}
	return env
}

func get(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, is := strings.CutPrefix(v, name+"="); is {
			return value
		}
	}
	return ""
}
