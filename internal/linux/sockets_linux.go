package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// SocketInode finds the socket that sends from a local address, in the network
// namespace of a process. proto is "tcp" or "udp".
func SocketInode(pid int, proto string, local netip.AddrPort) (inode string, ok bool) {
	addr := local.Addr().Unmap()
	wild := netip.IPv4Unspecified()
	if addr.Is6() {
		wild = netip.IPv6Unspecified()
	}
	for _, table := range socketTables(addr) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s%s", pid, proto, table.suffix))
		if err != nil {
			continue
		}
		for _, a := range []netip.Addr{addr, wild} { // one that sends without having been bound
			if inode, ok := findSocket(raw, hexAddress(netip.AddrPortFrom(table.form(a), local.Port()))); ok {
				return inode, true
			}
		}
	}
	return "", false
}

type socketTable struct {
	suffix string
	form   func(netip.Addr) netip.Addr
}

// socketTables are where a socket with the address may be listed: one of IPv6
// can also speak IPv4, with addresses in mapped form.
func socketTables(addr netip.Addr) []socketTable {
	same := func(a netip.Addr) netip.Addr { return a }
	if addr.Is6() {
		return []socketTable{{"6", same}}
	}
	return []socketTable{
		{"", same},
		{"6", func(a netip.Addr) netip.Addr {
			if a.IsUnspecified() {
				return netip.IPv6Unspecified()
			}
			return netip.AddrFrom16(a.As16())
		}},
	}
}

// findSocket looks for a local address in a table of the kernel's:
//
//	sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode …
//
// A socket that has no inode is nobody's any more.
func findSocket(table []byte, want string) (inode string, ok bool) {
	for line := range bytes.Lines(table) {
		if !bytes.Contains(line, []byte(want)) {
			continue
		}
		if f := strings.Fields(string(line)); len(f) > 9 && f[1] == want && f[9] != "0" {
			return f[9], true
		}
	}
	return "", false
}

// hexAddress writes an address as those tables do: words in the machine's own
// byte order.
func hexAddress(a netip.AddrPort) string {
	raw := a.Addr().AsSlice()
	var b strings.Builder
	for ; len(raw) >= 4; raw = raw[4:] {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(raw))
	}
	fmt.Fprintf(&b, ":%04X", a.Port())
	return b.String()
}
