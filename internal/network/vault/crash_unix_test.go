//go:build unix

package vault

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestMain can be another process of the vault's: one that dies at a point, or
// one of a user without rights.
func TestMain(m *testing.M) {
	dir, at := os.Getenv("VAULT_TEST_DIR"), os.Getenv("VAULT_TEST_DIE")
	if dir == "" {
		os.Exit(m.Run())
	}
	hook = func(point string) {
		if point == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	v, err := Open(dir)
	if err == nil {
		err = v.Set(1000, token, []byte("new value"))
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Exit(0)
}

// another runs the vault in another process, as another user if uid is not -1.
func another(t *testing.T, dir, die string, uid int) (string, error) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = []string{"VAULT_TEST_DIR=" + dir, "VAULT_TEST_DIE=" + die}
	if uid >= 0 {
		cmd.Path = readable(t, self)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// readable is a copy that others can execute: the build's directory is ours.
func readable(t *testing.T, program string) string {
	t.Helper()
	from, err := os.Open(program)
	must(t, err)
	defer from.Close()
	dir, err := os.MkdirTemp("", "vault-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	to, err := os.OpenFile(filepath.Join(dir, "vault.test"), os.O_WRONLY|os.O_CREATE, 0o755)
	must(t, err)
	defer to.Close()
	_, err = io.Copy(to, from)
	must(t, err)
	return to.Name()
}

func TestKilledWhileWriting(t *testing.T) {
	for point, want := range map[string]string{"written": tokenValue, "renamed": "new value"} {
		_, dir := filled(t)
		if _, err := another(t, dir, point, -1); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%s: ended with %v", point, err)
		}
		v := opened(t, dir)
		_, value, err := v.Get(1000, "TOKEN")
		must(t, err)
		if string(value) != want {
			t.Errorf("%s: value is %q", point, value)
		}
		for _, file := range files(t, dir) {
			if strings.HasSuffix(file, ".new") {
				t.Errorf("%s: %s is left", point, file)
			}
		}
	}
}

// Killed while it made its first key, it makes one the next time.
func TestKilledWhileMakingTheKey(t *testing.T) {
	for _, point := range []string{"written", "renamed"} {
		dir := filepath.Join(t.TempDir(), "vault")
		if _, err := another(t, dir, point, -1); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%s: ended with %v", point, err)
		}
		must(t, opened(t, dir).Set(1000, token, []byte(tokenValue)))
	}
}

// Many that open an empty vault at once all have the same key.
func TestOneKeyForAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	var all sync.WaitGroup
	vaults := make([]*Vault, 16)
	for i := range vaults {
		all.Go(func() { vaults[i], _ = Open(dir) })
	}
	all.Wait()
	for _, v := range vaults {
		if v == nil || string(v.key) != string(vaults[0].key) {
			t.Fatal("the keys differ")
		}
	}
}

func TestRights(t *testing.T) {
	old := syscall.Umask(0) // the worst that a caller can have
	_, dir := filled(t)
	syscall.Umask(old)
	for path, want := range map[string]os.FileMode{"": 0o700, "key": 0o600, "lock": 0o600, "1000": 0o700, "1000/TOKEN": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%q has rights %s, not %s", path, info.Mode().Perm(), want)
		}
	}
	for path, mode := range map[string]os.FileMode{"": 0o750, "key": 0o640} {
		file := filepath.Join(dir, path)
		must(t, os.Chmod(file, mode))
		_, err := Open(dir)
		refused(t, err, forkbox.Denied, "others have rights to "+file)
		must(t, os.Chmod(file, mode&^0o077))
	}
	opened(t, dir)
}

func TestNoLinksAreFollowed(t *testing.T) {
	v, dir := filled(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for _, name := range []string{"1000/TOKEN", "key"} {
		must(t, os.Rename(filepath.Join(dir, name), elsewhere))
		must(t, os.Symlink(elsewhere, filepath.Join(dir, name)))
		if _, _, err := v.Get(1000, "TOKEN"); name != "key" && err == nil {
			t.Error("a link to a secret was followed")
		}
	}
	if _, err := Open(dir); err == nil {
		t.Error("a link to the key was followed")
	}
}

// Another user, without rights, neither opens the vault nor gives us theirs.
func TestAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	const nobody = 65534
	base := t.TempDir()
	for dir := base; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	dir := filepath.Join(base, "vault")
	must(t, opened(t, dir).Set(1000, token, []byte(tokenValue)))
	if out, err := another(t, dir, "", nobody); err == nil || !strings.Contains(out, "belongs to uid 0") || strings.Contains(out, tokenValue) {
		t.Errorf("nobody got %q, %v", out, err)
	}

	must(t, os.Chown(filepath.Join(dir, "key"), nobody, nobody))
	_, err := Open(dir)
	refused(t, err, forkbox.Denied, "belongs to uid 65534")

	own := filepath.Join(base, "own")
	must(t, os.Mkdir(own, 0o700))
	must(t, os.Chown(own, nobody, nobody))
	if out, err := another(t, filepath.Join(own, "vault"), "", nobody); err != nil {
		t.Errorf("nobody cannot have a vault: %q, %v", out, err)
	}
}
