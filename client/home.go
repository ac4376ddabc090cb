package client

import (
	"os"
	"path/filepath"
	"strconv"
)

// DefaultHome is where the daemon keeps its state: FORKBOX_HOME, else
// /var/lib/forkbox for root and $XDG_STATE_HOME/forkbox for other users.
func DefaultHome() string {
	if home := os.Getenv("FORKBOX_HOME"); home != "" {
		return absolute(home)
	}
	if os.Geteuid() == 0 {
		return "/var/lib/forkbox"
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "forkbox")
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "forkbox")
	}
	return filepath.Join(os.TempDir(), "forkbox-"+strconv.Itoa(os.Geteuid()))
}

// DefaultSocket is where the daemon listens: FORKBOX_SOCKET, else forkbox.sock
// in the home.
func DefaultSocket() string {
	if socket := os.Getenv("FORKBOX_SOCKET"); socket != "" {
		return absolute(socket)
	}
	return filepath.Join(DefaultHome(), "forkbox.sock")
}

// absolute matters because the daemon runs in / and must mean the same path.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}
