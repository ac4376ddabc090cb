package linux

import (
	"errors"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TUNPath is where TUN devices come from.
const TUNPath = "/dev/net/tun"

// Interface is how a TUN device is set up in a network namespace.
type Interface struct {
	Name string
	MTU  int
	IP4  netip.Prefix
	IP6  netip.Prefix // not set up where the kernel has no IPv6
}

// NewTUN makes a TUN device in the current network namespace, of the device
// file that path leads to, and has everything that is not local go through it.
func NewTUN(path string, i Interface) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: TUNPath, Err: err}
	}
	f := os.NewFile(uintptr(fd), i.Name)
	if err := errors.Join(becomeTUN(fd, i.Name), i.up()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func becomeTUN(fd int, name string) error {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return os.NewSyscallError("make the TUN device", err)
	}
	// It goes with its network namespace, in the background. Else the process
	// that closes it last would have to wait until the kernel has taken it down:
	// that takes longer than all the rest of a box's life.
	return os.NewSyscallError("keep the TUN device", unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1))
}

// OpenTUN takes over a TUN device that another process made, and makes sure that
// it is one.
func OpenTUN(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ifr, _ := unix.NewIfreq("")
	err = unix.IoctlIfreq(fd, unix.TUNGETIFF, ifr)
	if flags := ifr.Uint16(); err == nil && flags&(unix.IFF_TUN|unix.IFF_TAP|unix.IFF_NO_PI|unix.IFF_VNET_HDR) != unix.IFF_TUN|unix.IFF_NO_PI {
		err = errors.New("it is set up differently")
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("take over the TUN device", err)
	}
	return os.NewFile(uintptr(fd), "tun"), nil
}

// up sets the device up with ioctls: one that no other process has seen yet
// needs no netlink.
func (i Interface) up() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	mask := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	if masked, err := mask.Prefix(i.IP4.Bits()); err == nil {
		mask = masked.Addr()
	}
	return firstError(
		func() error {
			return i.request(fd, unix.SIOCSIFMTU, func(r *unix.Ifreq) { r.SetUint32(uint32(i.MTU)) })
		},
		func() error { return i.address(fd, unix.SIOCSIFADDR, i.IP4.Addr()) },
		func() error { return i.address(fd, unix.SIOCSIFNETMASK, mask) },
		func() error {
			return i.request(fd, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING) })
		},
		func() error { return i.defaultRoute(fd) },
		i.up6,
	)
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (i Interface) request(fd int, number uint, fill func(*unix.Ifreq)) error {
	ifr, err := unix.NewIfreq(i.Name)
	if err != nil {
		return err
	}
	fill(ifr)
	return os.NewSyscallError("set up "+i.Name, unix.IoctlIfreq(fd, number, ifr))
}

func (i Interface) address(fd int, number uint, addr netip.Addr) error {
	var err error
	return errors.Join(i.request(fd, number, func(r *unix.Ifreq) { b := addr.As4(); err = r.SetInet4Addr(b[:]) }), err)
}

// rtentry is the kernel's struct of that name.
type rtentry struct {
	_       uintptr
	dst     unix.RawSockaddrInet4
	gateway unix.RawSockaddrInet4
	genmask unix.RawSockaddrInet4
	flags   uint16
	_       int16
	_       uintptr
	_       uintptr
	metric  int16
	dev     *byte
	mtu     uintptr
	window  uintptr
	irtt    uint16
}

func (i Interface) defaultRoute(fd int) error {
	name, err := syscall.BytePtrFromString(i.Name)
	if err != nil {
		return err
	}
	rt := rtentry{flags: unix.RTF_UP, dev: name}
	rt.dst.Family, rt.gateway.Family, rt.genmask.Family = unix.AF_INET, unix.AF_INET, unix.AF_INET
	return ioctl(fd, unix.SIOCADDRT, unsafe.Pointer(&rt), "route through "+i.Name)
}

func ioctl(fd int, number uintptr, arg unsafe.Pointer, what string) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), number, uintptr(arg)); errno != 0 {
		return os.NewSyscallError(what, errno)
	}
	return nil
}

// in6Ifreq and in6Rtmsg are the kernel's structs in6_ifreq and in6_rtmsg.
type in6Ifreq struct {
	addr  [16]byte
	bits  uint32
	index int32
}

type in6Rtmsg struct {
	dst, src, gateway [16]byte
	kind              uint32
	dstLen, srcLen    uint16
	metric            uint32
	info              uintptr
	flags             uint32
	index             int32
}

// up6 does the same for IPv6, where the kernel has it.
func (i Interface) up6() error {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq(i.Name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ifr); err != nil {
		return os.NewSyscallError("find "+i.Name, err)
	}
	index := int32(ifr.Uint32())
	addr := in6Ifreq{addr: i.IP6.Addr().As16(), bits: uint32(i.IP6.Bits()), index: index}
	err = ioctl(fd, unix.SIOCSIFADDR, unsafe.Pointer(&addr), "set up IPv6 on "+i.Name)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil // switched off by sysctl
	}
	route := in6Rtmsg{kind: 0, metric: 1024, flags: unix.RTF_UP, index: index}
	if err == nil {
		err = ioctl(fd, unix.SIOCADDRT, unsafe.Pointer(&route), "route IPv6 through "+i.Name)
	}
	return err
}
