package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// inScope is the daemon's command in a scope of the user's service manager,
// where it may make cgroups and so limit boxes. It is nil where that is of no
// use: root needs none, and a process below the user's manager has that right
// already. A login session does not.
func inScope(daemon *exec.Cmd) *exec.Cmd {
	manager := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd", "private")
	tool, err := exec.LookPath("systemd-run")
	if os.Geteuid() == 0 || err != nil || os.Getenv("XDG_RUNTIME_DIR") == "" || !listens(manager) || belowManager() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	scoped := *daemon
	scoped.Path = tool
	scoped.Args = append([]string{tool, "--user", "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--", self}, daemon.Args[1:]...)
	return &scoped
}

// belowManager says whether this process is in a group below the user's
// service manager, which is theirs to divide.
func belowManager() bool {
	text, err := os.ReadFile("/proc/self/cgroup")
	return err == nil && strings.Contains(string(text), "/user@")
}

func listens(socket string) bool {
	_, err := os.Lstat(socket)
	return err == nil
}
