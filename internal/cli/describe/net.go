package describe

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// PlainWord is printable for what stands among other words: with a space in it
// a name could pass for more than one of them.
func PlainWord(text string) string {
	if strings.ContainsAny(text, " \"'()") && terminal.Printable(text) == text {
		return fmt.Sprintf("%q", text)
	}
	return terminal.Printable(text)
}

// Target reads "tcp a.example:443 (192.0.2.7)". The name came out of a box:
// it must not look like another, nor like the next column.
func Target(t forkbox.NetTarget) string {
	name, address := PlainWord(t.Host), ""
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
	return strings.TrimSpace(PlainWord(t.Proto) + " " + terminal.OrWord(name, "?") + address)
}

func withPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// SecretNames leaves out the placeholders: they say nothing to people.
func SecretNames(n forkbox.Network) string {
	return terminal.PrintableList(slices.Sorted(maps.Keys(n.Secrets)))
}

// Net is the network of a box in a word or two.
func Net(b forkbox.Box) string {
	var details []string
	if b.Network.Preset != "" {
		details = append(details, terminal.Printable(b.Network.Preset))
	}
	if b.Network.Team != "" {
		details = append(details, "team "+terminal.Printable(b.Network.Team))
	}
	if b.Net != forkbox.NetPolicy || len(details) == 0 {
		return terminal.Printable(string(b.Net))
	}
	return string(b.Net) + " (" + strings.Join(details, ", ") + ")"
}

// NetRows is what `forkbox show` has of it.
func NetRows(b forkbox.Box) [][2]string {
	text := Net(b)
	if b.Net == forkbox.NetPolicy {
		text += "; its rules: forkbox net show " + b.Name
	}
	rows := [][2]string{{"network", text}, {"host ports", terminal.JoinPorts(b.Network.HostPorts)}, {"secrets used", SecretNames(b.Network)}}
	for _, port := range b.Network.Ports {
		rows = append(rows, [2]string{"published", Port(port)})
	}
	return rows
}

// PublishedAt is where a port answers. One of a box at rest may not have been
// given a number yet.
func PublishedAt(p forkbox.Port) string {
	if p.Host == 0 {
		return "chosen when the box starts"
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Host))
}

// Port is a published port, and where it answers.
func Port(p forkbox.Port) string { return strconv.Itoa(p.Box) + " on " + PublishedAt(p) }
