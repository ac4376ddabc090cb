package secrets

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// inRun is what lies under /run, mostly, and acts for the host or holds its
// secrets. /var/run and /var/lock are symlinks into it.
var inRun = []known{
	{path: "/run/docker.sock", why: "the Docker engine: root on the host"},
	{path: "/run/docker", why: "the Docker engine's state", dir: true},
	{path: "/run/containerd", why: "containerd: root on the host", dir: true},
	{path: "/run/podman", why: "the Podman engine: root on the host", dir: true},
	{path: "/run/crio", why: "CRI-O: root on the host", dir: true},
	{path: "/run/buildkit", why: "BuildKit: root on the host", dir: true},
	{path: "/run/k3s", why: "k3s: root on the host", dir: true},
	{path: "/run/libvirt", why: "virtual machines of the host", dir: true},
	{path: "/run/lxd.socket", why: "LXD: root on the host"},
	{path: "/run/incus", why: "Incus: root on the host", dir: true},
	{path: "/run/snapd.socket", why: "snapd: root on the host"},
	{path: "/run/snapd-snap.socket", why: "snapd"},
	{path: "/run/dbus", why: "the system's D-Bus", dir: true},
	{path: "/run/systemd/private", why: "systemd's own socket"},
	{path: "/run/systemd/journal", why: "the host's journal", dir: true},
	{path: "/run/systemd/notify", why: "systemd's own socket"},
	{path: "/run/systemd/io.system.ManagedOOM", why: "systemd's own socket"},
	{path: "/run/credentials", why: "credentials of services", dir: true},
	{path: "/run/secrets", why: "secrets of a container", dir: true},
	{path: "/run/agenix", why: "secrets of agenix", dir: true},
	{path: "/run/sudo", why: "sudo's time stamps", dir: true},
	{path: "/run/udev/control", why: "udev's control socket"},
	{path: "/run/tailscale", why: "Tailscale's control socket", dir: true},
	{path: "/run/screen", why: "terminals of the host", dir: true},
	{path: "/run/tmux", why: "terminals of the host", dir: true},
	{path: "/var/lib/forkbox", why: "boxes, logs and secrets of the system's forkbox", dir: true},
	{path: "/run/user/%d", why: "the user's session: D-Bus, agents, keyrings, the display", dir: true},
}

// inTmp is what programs keep in /tmp instead, under names that are known; %d is
// the user. They are hidden also when they come later.
var inTmp = []known{
	{path: "/tmp/tmux-%d", why: "terminals of the host", dir: true},
	{path: "/tmp/screens", why: "terminals of the host", dir: true},
	{path: "/tmp/.X11-unix", why: "the display", dir: true},
	{path: "/tmp/.ICE-unix", why: "the desktop session", dir: true},
	{path: "/tmp/krb5cc_%d", why: "Kerberos tickets"},
}

// inPassing is what programs leave in directories for passing files under names
// that are not known beforehand, of whichever user: root in a box could read
// all users'. Only names are looked at.
var inPassing = []struct {
	dir   string
	names map[string]string // patterns, and why
}{
	{"/tmp", map[string]string{
		"krb5cc*": "Kerberos tickets", "tmux-*": "terminals of the host", "ssh-*": "an SSH agent's socket",
		".Xauth*": "the key to a display", "xauth_*": "the key to a display", "serverauth.*": "the key to a display",
		"systemd-private-*": "files of a service", "snap-private-tmp": "files of snaps", "keyring-*": "the desktop's keyring",
	}},
	{"/var/tmp", map[string]string{"krb5cc*": "Kerberos tickets", "systemd-private-*": "files of a service"}},
	{"/run/user", map[string]string{"*": "a user's session: D-Bus, agents, keyrings, the display"}},
}

// Lying lists what of the kind is there now.
func Lying() []Entry { return lyingIn("/") }

func lyingIn(root string) (entries []Entry) {
	for _, place := range inPassing {
		dir := filepath.Join(root, place.dir)
		f, err := os.Open(dir)
		if err != nil {
			continue // not there, or not readable in a box either
		}
		names, _ := f.Readdirnames(-1)
		f.Close()
		for _, name := range names {
			if why := match(place.names, name); why != "" {
				path := filepath.Join(dir, name)
				entries = append(entries, Entry{Path: path, Target: path, Why: why})
			}
		}
	}
	return entries
}

func match(patterns map[string]string, name string) string {
	for pattern, why := range patterns {
		if ok, _ := filepath.Match(pattern, name); ok {
			return why
		}
	}
	return ""
}

// Runtime lists live sockets and credentials that are not files of a home
// directory: those of the host, and those of the user. They are listed whether
// they are there or not.
func Runtime(uid int) []Entry { return runtimeIn("/", uid) }

func runtimeIn(root string, uid int) []Entry {
	entries := make([]Entry, 0, len(inRun)+len(inTmp))
	for _, list := range [][]known{inRun, inTmp} {
		for _, k := range list {
			path := filepath.Join(root, strings.ReplaceAll(k.path, "%d", strconv.Itoa(uid)))
			entries = append(entries, Entry{Path: path, Target: path, Why: k.why, Dir: k.dir})
		}
	}
	return entries
}
