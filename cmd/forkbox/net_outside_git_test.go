//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// serveGit makes a repository, DIR/git/repo.git, that can be cloned and pushed
// to by https and by ssh.
func (o *outside) serveGit() error {
	script := `set -e
git init -q --bare -b main git/repo.git
git -C git/repo.git config http.receivepack true
git init -q -b main seed
cd seed
echo "a line" >file
git add file
git -c user.name=world -c user.email=world@example.org commit -q -m first
git push -q ../git/repo.git main
`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = o.dir, gitEnv(o.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot make a repository: %v: %s", err, out)
	}
	return nil
}

// gitEnv has git use no configuration of this machine's.
func gitEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

// gitBackend is git over https.
func (o *outside) gitBackend() http.Handler {
	where, _ := exec.Command("git", "--exec-path").Output()
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"), Root: "/",
		Env:    append(gitEnv(o.dir), "GIT_PROJECT_ROOT="+o.file("git"), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=world"),
		Logger: quietLog(),
	}
}

const sshdConfig = `HostKey %[1]s/ssh_host
AuthorizedKeysFile %[1]s/ssh_allowed
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
PidFile none
LogLevel ERROR
`

// sshCommands are all that who logs in can do: the server is root on the real
// machine, and the key is for every user who runs tests.
const sshCommands = `restrict,command="case \"$SSH_ORIGINAL_COMMAND\" in git-*) git-shell -c \"$SSH_ORIGINAL_COMMAND\";; *) echo hello from ssh;; esac" %s`

// serveSSH answers on 22 with OpenSSH's server, to who has DIR/ssh_client.
func (o *outside) serveSSH() error {
	for _, key := range []string{"ssh_host", "ssh_client"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", o.file(key)).CombinedOutput(); err != nil {
			return fmt.Errorf("ssh-keygen: %v: %s", err, out)
		}
	}
	public, err := os.ReadFile(o.file("ssh_client.pub"))
	if err = errors.Join(err, os.Chmod(o.file("ssh_client"), 0o644),
		os.WriteFile(o.file("ssh_allowed"), fmt.Appendf(nil, sshCommands, public), 0o644),
		os.WriteFile(o.file("sshd_config"), fmt.Appendf(nil, sshdConfig, o.dir), 0o600)); err != nil {
		return err
	}
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	return eachConn("22", func(c net.Conn) { o.sshSession(sshd, c) })
}

func (o *outside) sshSession(sshd string, c net.Conn) {
	defer c.Close()
	file, err := c.(*net.TCPConn).File()
	if err != nil {
		return
	}
	defer file.Close()
	cmd := exec.Command(sshd, "-i", "-e", "-f", o.file("sshd_config"))
	cmd.Stdin, cmd.Stdout = file, file
	_ = cmd.Run() // it says itself what was wrong
}
