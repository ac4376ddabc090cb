package secrets

import (
	"path/filepath"
	"strconv"
	"strings"
)

// inRun is what lies under /run and acts for the host or holds its secrets.
// /var/run and /var/lock are symlinks into it.
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
}

// inTmp is what programs keep in /tmp instead. The names vary.
var inTmp = []known{
	{path: "/tmp/ssh-*", why: "ssh-agent", dir: true},
	{path: "/tmp/tmux-*", why: "terminals of the host", dir: true},
	{path: "/tmp/screens", why: "terminals of the host", dir: true},
	{path: "/tmp/.X11-unix", why: "the display", dir: true},
	{path: "/tmp/.ICE-unix", why: "the desktop session", dir: true},
	{path: "/tmp/krb5cc_*", why: "Kerberos tickets"},
}

// ofUser is what lies in a user's own runtime directory, by pattern. Some of
// these are a file with one version of a program and a directory with another,
// so what they are is asked, not listed.
var ofUser = []known{
	{path: "bus", why: "the session's D-Bus"},
	{path: "dbus-1", why: "the session's D-Bus", dir: true},
	{path: "systemd", why: "the user's systemd", dir: true},
	{path: "gnupg", why: "gpg-agent", dir: true},
	{path: "keyring", why: "the desktop's keyring", dir: true},
	{path: "gcr", why: "the desktop's ssh-agent", dir: true},
	{path: "ssh-agent*", why: "ssh-agent"},
	{path: "openssh_agent", why: "ssh-agent"},
	{path: "kwallet*", why: "KDE's wallet"},
	{path: "podman", why: "the Podman engine", dir: true},
	{path: "containers", why: "registry logins", dir: true},
	{path: "docker.sock", why: "the Docker engine"},
	{path: "docker", why: "the Docker engine", dir: true},
	{path: "containerd*", why: "containerd", dir: true},
	{path: "buildkit*", why: "BuildKit", dir: true},
	{path: "pulse", why: "the microphone and speakers", dir: true},
	{path: "pipewire-*", why: "the camera, microphone and screen"},
	{path: "wayland-*", why: "the display"},
	{path: "vscode-*", why: "the editor on the host"},
	{path: "doc", why: "the document portal", dir: true},
	{path: "at-spi", why: "the desktop session", dir: true},
	{path: "krb5cc*", why: "Kerberos tickets"},
}

// Runtime lists live sockets and credentials that are not files of a home
// directory: those of the host, and those of the user. Fixed names are listed
// whether they are there or not, patterns as far as something matches.
func Runtime(uid int) []Entry { return runtimeIn("/", uid) }

func runtimeIn(root string, uid int) []Entry {
	var entries []Entry
	for _, k := range append(append([]known(nil), inRun...), inTmp...) {
		entries = append(entries, expand(filepath.Join(root, k.path), k)...)
	}
	user := filepath.Join(root, "run/user", strconv.Itoa(uid))
	for _, k := range ofUser {
		entries = append(entries, expand(filepath.Join(user, k.path), k)...)
	}
	return entries
}

// expand resolves a pattern. A fixed name stands for itself.
func expand(path string, k known) []Entry {
	matches := []string{path}
	if strings.Contains(k.path, "*") {
		matches, _ = filepath.Glob(path) // only a malformed pattern fails
	}
	var entries []Entry
	for _, m := range matches {
		entries = append(entries, Entry{Path: m, Target: m, Why: k.why, Dir: isDir(m, k.dir)})
	}
	return entries
}
