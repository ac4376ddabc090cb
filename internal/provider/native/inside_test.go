//go:build linux

package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/providertest"
)

// started is a running box as most tests want it.
func started(t *testing.T, changes ...func(*forkbox.Box)) *providertest.Running {
	t.Helper()
	_, l := lab(t)
	return l.Start(l.Box(changes...))
}

func TestDevices(t *testing.T) {
	t.Parallel()
	r := started(t)
	want := "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"
	if got := strings.Join(strings.Fields(r.Sh("ls /dev")), " "); got != want {
		t.Errorf("/dev has %s", got)
	}
	r.Sh("echo x >/dev/null; head -c 1 /dev/zero /dev/urandom /dev/random >/dev/null; echo y >/dev/shm/y; echo z | cat /dev/stdin >/dev/fd/1")
	r.Fails("echo x >/dev/full")
	r.Fails("ls /dev/pts | grep -qv ptmx") // none of the host's terminals
}

func TestKernelViews(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.Fails("mkdir /sys/fbtest || find /sys -maxdepth 2 -writable -type f | grep .")
	if got := r.Sh("ls -d /proc/[0-9]* | wc -l"); got == "" || len(got) > 2 {
		t.Errorf("/proc has %s processes", got)
	}
	if got := r.Sh("head -c 1 /proc/kcore 2>/dev/null | wc -c; head -c 1 /proc/keys 2>/dev/null | wc -c; ls /sys/firmware 2>/dev/null | wc -l"); root && got != "0\n0\n0" {
		t.Errorf("the masks let through %q", got)
	}
	r.Fails("grep -q . /proc/sysrq-trigger || echo >/proc/sysrq-trigger")
}

func TestLoopbackOnly(t *testing.T) {
	t.Parallel()
	r := started(t)
	if got := r.Sh("tail -n +3 /proc/net/dev | cut -d: -f1; cat /sys/class/net/lo/flags"); root && got != "lo\n0x9" && got != "lo\n0x8" && !strings.HasPrefix(strings.TrimSpace(got), "lo") {
		t.Errorf("interfaces %q", got)
	}
	if got := strings.Fields(r.Sh("tail -n +3 /proc/net/dev | cut -d: -f1")); !slices.Equal(got, []string{"lo"}) {
		t.Errorf("interfaces %q", got)
	}
	r.Sh("getent hosts $(hostname)")
	res := r.Run(forkbox.ExecSpec{Argv: []string{"bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80"}}, nil)
	if !strings.Contains(res.Stderr, "unreachable") {
		t.Errorf("a box without network says %q", res.Stderr)
	}
}

func TestHostNetworkIsTheHosts(t *testing.T) {
	t.Parallel()
	r := started(t, func(b *forkbox.Box) { b.Net = forkbox.NetHost })
	want, err := os.Readlink("/proc/self/ns/net")
	must(t, err)
	if got := r.Sh("readlink /proc/self/ns/net"); got != want {
		t.Errorf("network namespace %s, the host's is %s", got, want)
	}
	if root { // its capabilities are not over the host's network
		r.Fails("ip link add fbtest0 type dummy")
	}
}

func TestNamespacesAreOwn(t *testing.T) {
	t.Parallel()
	a, b := namespacesOf(started(t)), namespacesOf(started(t))
	for i, kind := range kinds {
		host, err := os.Readlink("/proc/self/ns/" + kind)
		must(t, err)
		if a[i] == host || b[i] == host || a[i] == b[i] {
			t.Errorf("%s: the host has %s, the boxes %s and %s", kind, host, a[i], b[i])
		}
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	r := started(t)
	status := r.Sh("cat /proc/self/status")
	field := func(name string) string {
		_, rest, _ := strings.Cut(status, name+":\t")
		value, _, _ := strings.Cut(rest, "\n")
		return value
	}
	none := "0000000000000000"
	for _, set := range []string{"CapInh", "CapAmb"} {
		if field(set) != none {
			t.Errorf("%s is %s", set, field(set))
		}
	}
	if !root && (field("CapEff") != none || field("CapPrm") != none) {
		t.Errorf("an unprivileged user has CapEff %s", field("CapEff"))
	}
	if field("NoNewPrivs") != "0" || field("Seccomp") != "2" {
		t.Errorf("NoNewPrivs %s, Seccomp %s", field("NoNewPrivs"), field("Seccomp"))
	}
	if field("SigIgn") != none || field("SigBlk") != none {
		t.Errorf("signals ignored %s, blocked %s", field("SigIgn"), field("SigBlk"))
	}
}

// deniedCalls have to be refused. The arguments are such that a call that was
// let through would do nothing.
var deniedCalls = []struct {
	name string
	nr   uintptr
	args [3]uintptr
}{
	{"kexec_load", unix.SYS_KEXEC_LOAD, [3]uintptr{}}, {"kexec_file_load", unix.SYS_KEXEC_FILE_LOAD, [3]uintptr{^uintptr(0)}},
	{"init_module", unix.SYS_INIT_MODULE, [3]uintptr{}}, {"finit_module", unix.SYS_FINIT_MODULE, [3]uintptr{^uintptr(0)}},
	{"delete_module", unix.SYS_DELETE_MODULE, [3]uintptr{}}, {"bpf", unix.SYS_BPF, [3]uintptr{9999}},
	{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, [3]uintptr{^uintptr(0)}},
	{"reboot", unix.SYS_REBOOT, [3]uintptr{}}, {"swapon", unix.SYS_SWAPON, [3]uintptr{}}, {"swapoff", unix.SYS_SWAPOFF, [3]uintptr{}},
	{"acct", unix.SYS_ACCT, [3]uintptr{1}}, {"syslog", unix.SYS_SYSLOG, [3]uintptr{9999}}, {"quotactl", unix.SYS_QUOTACTL, [3]uintptr{}},
	{"settimeofday", unix.SYS_SETTIMEOFDAY, [3]uintptr{}}, {"userfaultfd", unix.SYS_USERFAULTFD, [3]uintptr{^uintptr(0)}},
}

// missingCalls look as if the kernel had none of them.
var missingCalls = map[string]uintptr{"keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY}

func syscallsTool([]string) int {
	code := 0
	for name, nr := range missingCalls {
		if _, _, errno := syscall.RawSyscall(nr, 9999, 0, 0); errno != unix.ENOSYS {
			fmt.Println(name, "gives", errno)
			code = 1
		}
	}
	for _, c := range deniedCalls {
		if _, _, errno := syscall.RawSyscall(c.nr, c.args[0], c.args[1], c.args[2]); errno != unix.EPERM {
			fmt.Println(c.name, "gives", errno)
			code = 1
		}
	}
	return code
}

func TestSeccomp(t *testing.T) {
	t.Parallel()
	res := started(t).Run(forkbox.ExecSpec{Argv: providertest.Tool("syscalls")}, nil)
	if res.Exit.Code != 0 {
		t.Errorf("%s%s", res.Stdout, res.Stderr)
	}
}

// TestSeccompOf32BitPrograms: the calls have other numbers there.
func TestSeccompOf32BitPrograms(t *testing.T) {
	t.Parallel()
	dir := providertest.Tree(t, map[string]string{"keyctl": string(keyctl32())})
	must(t, os.Chmod(dir+"/keyctl", 0o755))
	r := started(t)
	var exit *exec.ExitError
	host := exec.Command(dir + "/keyctl").Run()
	res, err := r.Try(forkbox.ExecSpec{Argv: []string{dir + "/keyctl"}}, nil)
	if e, ok := host.(*exec.ExitError); ok {
		exit = e
	}
	switch {
	case exit == nil && host != nil: // a kernel without 32-bit programs: nor has the box any
		if err == nil && res.Exit.Code == 0 { // the shell tries, and fails
			t.Errorf("the host says %v, the box %+v", host, res.Exit)
		}
	case err != nil:
		t.Error(err)
	case exit == nil || exit.ExitCode() != int(unix.EOPNOTSUPP) || res.Exit.Code != int(unix.ENOSYS):
		t.Errorf("keyctl: the host says %v, the box %+v", host, res.Exit)
	}
}

// keyctl32 is a 32-bit program for x86 that exits with the errno of
// keyctl(9999), a command that no kernel knows.
func keyctl32() []byte {
	code := []byte{
		0xb8, 0x20, 0x01, 0, 0, // mov eax, 288
		0xbb, 0x0f, 0x27, 0, 0, // mov ebx, 9999
		0xcd, 0x80, // int 0x80
		0xf7, 0xd8, // neg eax
		0x89, 0xc3, // mov ebx, eax
		0xb8, 0x01, 0, 0, 0, // mov eax, 1: exit
		0xcd, 0x80,
	}
	const base, head = 0x08048000, 52 + 32
	var b bytes.Buffer
	size := uint32(head + len(code))
	b.WriteString("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, v := range []any{uint16(2), uint16(3), uint32(1), uint32(base + head), uint32(52), uint32(0), uint32(0),
		uint16(52), uint16(32), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(0), uint32(base), uint32(base), size, size, uint32(5), uint32(0x1000)} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.Write(code)
	return b.Bytes()
}

// TestStrayDescriptors: what the process that started the daemon left open in it
// does not reach a box, neither its execs nor its init.
func TestStrayDescriptors(t *testing.T) {
	t.Parallel()
	dir := providertest.Tree(t, nil)
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	stray, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 200) // without close-on-exec
	must(t, err)
	defer unix.Close(stray)
	r := started(t)
	if got := strings.Fields(r.Sh("ls /proc/self/fd")); len(got) > 4 {
		t.Errorf("an exec has %v", got)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.Instance.(*instance).process.PID))
	if err != nil && root {
		t.Error(err)
	}
	for _, fd := range fds {
		if link, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", r.Instance.(*instance).process.PID, fd.Name())); link == dir {
			t.Errorf("init has %s", link)
		}
	}
}

// TestSetuid: programs that change the user work as far as the box has users.
func TestSetuid(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.Sh("cp /usr/bin/id /var/tmp/setuid-id && chmod 4755 /var/tmp/setuid-id")
	if !root {
		r.Sh("/var/tmp/setuid-id -u")
		return
	}
	spec := providertest.Shell("/var/tmp/setuid-id -un; grep NoNewPrivs /proc/self/status")
	spec.User = "nobody"
	if got := r.Run(spec, nil).Stdout; got != "root\nNoNewPrivs:\t0\n" {
		t.Errorf("a setuid program says %q", got)
	}
	if got := r.Sh("su -s /bin/sh nobody -c 'id -un'"); got != "nobody" {
		t.Errorf("su says %q", got)
	}
	if _, err := exec.LookPath("sudo"); err == nil {
		if got := r.Sh("sudo -n -u nobody id -un 2>&1"); got != "nobody" {
			t.Errorf("sudo says %q", got)
		}
	}
}

// TestOwnerIsSomebodyElse: a root daemon's box of an ordinary user has that
// user's rights. An unprivileged daemon has no other users, and says so.
func TestOwnerIsSomebodyElse(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	r := l.Start(l.Box(func(b *forkbox.Box) {
		b.Owner = forkbox.Owner{UID: 65534, GID: 65534, Groups: []int{65534, 4321}, Name: "nobody", Home: "/nonexistent"}
	}))
	if !root {
		spec := providertest.Shell("true")
		spec.User = "nobody"
		if _, err := r.Try(spec, nil); forkbox.CodeOf(err) != forkbox.Unsupported {
			t.Errorf("got %v", err)
		}
		return
	}
	if got := r.Sh("id -u; id -g; id -G"); got != "65534\n65534\n65534 4321" {
		t.Errorf("runs as %q", got)
	}
	r.Fails("cat /etc/shadow")
	r.Fails("touch /etc/fbtest")
	r.Fails("ls /root")
	if got := r.Sh("grep CapEff /proc/self/status"); !strings.HasSuffix(got, "0000000000000000") {
		t.Error(got)
	}
}

// TestStopOfAnInitThatDoesNotAnswer: root in a box can freeze init with
// ptrace. Stop has to end the box all the same.
func TestStopOfAnInitThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := started(t)
	must(t, syscall.Kill(r.Instance.(*instance).process.PID, syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.Instance.Stop(ctx, 50*time.Millisecond); err != nil {
		t.Error(err)
	}
}

// parentTool joins the namespaces of the process that is given and says so.
func parentTool(args []string) int {
	fd, err := unix.Open(args[0], unix.O_RDONLY, 0)
	if err != nil {
		return 1
	}
	if unix.Setns(fd, 0) != nil {
		return 1
	}
	return 0
}

// TestHostNamespacesCannotBeEntered: a box cannot name one of the host's, and
// could not enter it.
func TestHostNamespacesCannotBeEntered(t *testing.T) {
	t.Parallel()
	r := started(t)
	pid := os.Getpid()
	r.Fails(fmt.Sprintf("test -e /proc/%d/ns/mnt && grep -q test /proc/%d/comm", pid, pid))
	for _, kind := range []string{"user", "mnt", "net", "pid"} {
		// Handed over as standard input, which no client does.
		f, err := os.Open("/proc/self/ns/" + kind)
		must(t, err)
		id := r.ID()
		spec := forkbox.ExecSpec{Argv: providertest.Tool("parent", "/proc/self/fd/0")}
		must(t, r.Exec(id, spec, forkbox.Stdio{In: f}, 1<<10))
		if end := r.Wait(id); end.Exit.Code == 0 {
			t.Errorf("the box entered the host's %s namespace", kind)
		}
	}
}

// TestAttachFindsInitAndNobodyElse: until init listens for itself, the peer
// that the kernel names is the daemon that bound the socket, or the process that
// has that daemon's pid by now. Stopping the box would kill that process.
func TestAttachFindsInitAndNobodyElse(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := l.Box()
	listener, err := linux.ListenUnix(p.builder.socket(box.ID))
	must(t, err)
	defer listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if inst, err := p.Attach(ctx, box); err == nil {
		t.Errorf("attached to process %d; we are %d", inst.(*instance).process.PID, os.Getpid())
	}
}

// TestTakeover: a newer daemon takes the box over, and the older one does not
// take it down.
func TestTakeover(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := l.Box()
	l.Start(box).Sh("echo x >/var/tmp/file")
	newer, err := openStore(p.home)
	must(t, err)
	inst, err := newer.Attach(context.Background(), box)
	must(t, err)
	if got, err := output(inst, box, "cat /var/tmp/file"); got != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	must(t, inst.Stop(context.Background(), 0))
}

func TestInitRefusesToBeStartedByHand(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(context.Background(), self)
	cmd.Args = []string{boxinit.InitName, "{}"}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot be started by hand") {
		t.Errorf("got %q, %v", out, err)
	}
}
