//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// The outside world of the network tests is one process in a network namespace
// of its own, with servers of every kind on addresses that look public. Beside
// it is an empty namespace, "the host", in which forkbox's daemon runs. They
// are connected as a machine is to the internet. The daemon cannot have servers
// on its own addresses be the world: those are the host, and refused.
//
// Root starts it as
//
//	unshare --net --mount forkbox.test net-outside DIR
//
// and tells it through DIR/control.sock what names there are, and what was
// heard. DIR/host.pid is the process whose namespace is the host's. All of it
// ends when its stdin does: whatever becomes of who started it, nothing is left.
const (
	outsideArg = "net-outside"
	holderArg  = "net-outside-host"
)

func init() {
	if len(os.Args) < 2 {
		return
	}
	switch {
	case os.Args[1] == holderArg:
		_, _ = io.Copy(io.Discard, os.Stdin)
	case os.Args[1] == outsideArg && len(os.Args) == 3:
		if err := runOutside(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "the outside world:", err)
			os.Exit(1)
		}
	default:
		return
	}
	os.Exit(0)
}

// The world's addresses. The host's own is in linkNet; what is in serverNet
// answers; what is in canaryNet answers as well, and no test allows it. The
// ranges are those for documentation, so that nothing of them exists.
const (
	hostAddr4  = "192.0.2.10"
	hostAddr6  = "2001:db8:1::10"
	worldAddr4 = "192.0.2.1"
	worldAddr6 = "2001:db8:1::1"
	dnsAddr    = "203.0.113.53"
	metadata   = "169.254.169.254" // which no test allows
	metadata2  = "169.254.170.2"   // which some do
	nowhere    = "203.0.113.2"     // it swallows what comes, and says nothing

	serverFormat4 = "203.0.113.%d"
	serverFormat6 = "2001:db8:5::%x"
	canaryFormat4 = "198.51.100.%d"
	canaryFormat6 = "2001:db8:c::%x"
	privateFormat = "10.77.0.%d"
)

// worldLinks and hostLinks are commands of ip(8). The world has every address
// of its nets without that each is given to a device.
const worldLinks = `link set lo up
link add fbworld type veth peer name fbhost netns %d
address add 192.0.2.1/24 dev fbworld
address add 2001:db8:1::1/64 dev fbworld nodad
link set fbworld up
route add local 203.0.113.0/24 dev lo
route add local 198.51.100.0/24 dev lo
route add local 10.77.0.0/24 dev lo
route add local 169.254.169.254/32 dev lo
route add local 169.254.170.2/32 dev lo
route add blackhole 203.0.113.2/32 table local
route add local 2001:db8:5::/48 dev lo
route add local 2001:db8:c::/48 dev lo
`

const hostLinks = `link set lo up
address add 192.0.2.10/24 dev fbhost
address add 2001:db8:1::10/64 dev fbhost nodad
link set fbhost up
route add default via 192.0.2.1
route add ::/0 via 2001:db8:1::1
`

func runOutside(dir string) error {
	host, err := startHolder()
	if err != nil {
		return err
	}
	pid := host.Process.Pid
	if err := ip(exec.Command("ip", "-batch", "-"), fmt.Sprintf(worldLinks, pid)); err != nil {
		return err
	}
	if err := ip(exec.Command("nsenter", "--net", "--target", strconv.Itoa(pid), "ip", "-batch", "-"), hostLinks); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "host.pid"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		return err
	}
	if err := newOutside(dir).serve(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(host) // the host ends when its stdin is closed, also by the garbage collector
	return errors.Join(err, os.RemoveAll(dir))
}

// startHolder starts the process whose network namespace is the host's.
func startHolder() (*exec.Cmd, error) {
	cmd := exec.Command("/proc/self/exe", holderArg)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET}
	if _, err := cmd.StdinPipe(); err != nil { // closed when this process ends
		return nil, err
	}
	return cmd, cmd.Start()
}

func ip(cmd *exec.Cmd, batch string) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.WriteString(in, batch)
		in.Close()
	}()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %v: %s", cmd.Args, err, out)
	}
	return nil
}
