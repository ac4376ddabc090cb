package main

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// plainWord is printable for what stands among other words: with a space in it
// a name could pass for more than one of them.
func plainWord(text string) string {
	if strings.ContainsAny(text, " \"'()") && printable(text) == text {
		return fmt.Sprintf("%q", text)
	}
	return printable(text)
}

// targetText reads "tcp a.example:443 (192.0.2.7)". The name came out of a box:
// it must not look like another, nor like the next column.
func targetText(t forkbox.NetTarget) string {
	name, address := plainWord(t.Host), ""
	if t.Addr.IsValid() {
		address = t.Addr.String()
	}
	switch {
	case name == "":
		name, address = address, ""
	case address != "":
		address = " (" + address + ")"
	}
	if t.Port != 0 {
		name = withPort(name, t.Port)
	}
	return strings.TrimSpace(plainWord(t.Proto) + " " + orWord(name, "?") + address)
}

func withPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// secretNames leaves out the placeholders: they say nothing to people.
func secretNames(n forkbox.Network) string {
	return printableList(slices.Sorted(maps.Keys(n.Secrets)))
}

// netText is the network of a box in a word or two.
func netText(b forkbox.Box) string {
	var details []string
	if b.Network.Preset != "" {
		details = append(details, printable(b.Network.Preset))
	}
	if b.Network.Team != "" {
		details = append(details, "team "+printable(b.Network.Team))
	}
	if b.Net != forkbox.NetPolicy || len(details) == 0 {
		return printable(string(b.Net))
	}
	return string(b.Net) + " (" + strings.Join(details, ", ") + ")"
}

// netRowsOf is what `forkbox show` has of it.
func netRowsOf(b forkbox.Box) [][2]string {
	text := netText(b)
	if b.Net == forkbox.NetPolicy {
		text += "; its rules: forkbox net show " + b.Name
	}
	rows := [][2]string{{"network", text}, {"host ports", joinPorts(b.Network.HostPorts)}, {"secrets used", secretNames(b.Network)}}
	for _, port := range b.Network.Ports {
		rows = append(rows, [2]string{"published", portText(port)})
	}
	return rows
}

// publishedAt is where a port answers. One of a box at rest may not have been
// given a number yet.
func publishedAt(p forkbox.Port) string {
	if p.Host == 0 {
		return "chosen when the box starts"
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Host))
}

func portText(p forkbox.Port) string { return strconv.Itoa(p.Box) + " on " + publishedAt(p) }
