//go:build linux

package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// TestPromise8NamespacesWithinABoxGetNowhere: with a user namespace of its own a
// program in a box has every capability there is in it. What covers, hides and
// holds must stand all the same. Each script says what it got at.
func TestPromise8NamespacesWithinABoxGetNowhere(t *testing.T) {
	t.Parallel()
	home := providertest.Tree(t, map[string]string{".ssh/id_ed25519": "SECRET"})
	p, l := lab(t)
	r := l.Start(l.Box(func(b *forkbox.Box) { b.Owner.Home = home }))
	secret := filepath.Join(home, ".ssh/id_ed25519")
	firmware := "" // without root nothing is covered: a user sees there what it may see outside
	if !p.rootless {
		firmware = "mount --bind /sys /tmp && ls /tmp/firmware/*"
	}
	nested := func(script string) string { return "unshare -Urmpinuf sh -c '" + script + "'" }
	for what, script := range map[string]string{
		"what masks cover, by a bind of what is below": nested("mount --bind /proc /tmp && head -c 1 /tmp/kcore; " + firmware),
		"what masks cover, by taking them off":         nested("for m in /proc/kcore /proc/keys /proc/sys /proc /sys/firmware /sys; do umount -l $m && echo off $m; done"),
		"what is read-only, by mounting it anew":       nested("for m in /sys /proc/sys /proc/sysrq-trigger; do mount -o remount,bind,rw $m && echo rw $m; done; echo x >/proc/sys/kernel/core_pattern && echo wrote"),
		"the same without a namespace":                 "for m in /sys /proc/sys; do mount -o remount,bind,rw $m && echo rw $m; umount -l $m && echo off $m; done; echo x >/proc/sys/kernel/core_pattern && echo wrote",
		"a /sys that can be written to":                nested("mount -t sysfs none /tmp && find /tmp/kernel /tmp/module -maxdepth 2 -type f -writable"),
		"filesystems of the machine":                   nested("for f in debugfs tracefs securityfs efivarfs configfs pstore devtmpfs resctrl; do mount -t $f none /tmp && echo $f; done"),
		"devices":                                      nested("mount -t tmpfs none /tmp; for d in /tmp /dev /dev/shm; do mknod $d/fbtest-mem c 1 1 && echo $d; mknod $d/fbtest-disk b 8 0 && echo $d; done"),
		"another root, by pivoting":                    nested("mkdir -p /tmp/r; mount --rbind / /tmp/r; cd /tmp/r; pivot_root . tmp; umount -l /tmp; cat " + secret + "; ls " + p.home + "/boxes"),
		"a root above that of init":                    "for d in /proc/1/root/.. /proc/1/cwd/.. /proc/1/fd/*/..; do [ -d $d ] && ! [ $d -ef / ] && echo $d; done; cat /proc/1/root" + secret + "; ls /proc/1/root" + p.home + "/boxes",
		"a hidden file by another name":                "ln " + secret + " /tmp/linked && cat /tmp/linked; mv " + home + "/.ssh /tmp/moved && cat /tmp/moved/*; " + nested("mount --bind "+home+" /tmp && cat /tmp/.ssh/*"),
		"lower layers, by an overlay of one's own":     nested("mount -t tmpfs none /dev/shm; mkdir /dev/shm/u /dev/shm/w /dev/shm/m; mount -t overlay none -o lowerdir=" + home + ",upperdir=/dev/shm/u,workdir=/dev/shm/w /dev/shm/m; cat /dev/shm/m/.ssh/*"),
		"namespaces of init":                           "nsenter -t 1 -U true && echo user; nsenter -t 1 -C true && echo cgroup",
	} {
		if got := strings.TrimSpace(r.Sh("{ " + script + "; } 2>/dev/null || true")); got != "" {
			t.Errorf("%s: a box got at %q", what, got)
		}
	}
	if p.governor.namespaces() {
		return
	}
	raised := nested("echo 5 >/proc/sys/user/max_cgroup_namespaces; unshare -C true && echo made one; unshare -UrC true && echo made one")
	if got := r.Sh("{ " + raised + "; } 2>/dev/null || true"); got != "" {
		t.Errorf("a cgroup namespace, by a limit of a namespace's own: %q", got)
	}
}

// TestPromise1WhatABoxSetsIsNotTheHosts: attributes of a file that are neither its
// content nor its mode, how programs are started, and the settings of namespaces.
func TestPromise1WhatABoxSetsIsNotTheHosts(t *testing.T) {
	t.Parallel()
	dir := providertest.Tree(t, map[string]string{"file": "as it was\n", "magic": "FBTEST-MAGIC\n"})
	must(t, os.Chmod(filepath.Join(dir, "magic"), 0o755))
	r := started(t)
	settings := []string{"kernel/pid_max", "kernel/ns_last_pid", "kernel/core_pattern", "kernel/hostname", "net/ipv4/ip_forward", "user/max_cgroup_namespaces", "user/max_user_namespaces", "fs/mqueue/msg_max"}
	before := map[string]string{}
	for _, s := range settings {
		text, _ := os.ReadFile("/proc/sys/" + s)
		before[s] = string(text)
	}
	r.Sh("{ chattr +i " + dir + "/file; setfattr -n user.x -v y " + dir + "/file; touch -d 2001-01-01 " + dir + "/file; } 2>/dev/null; true")
	r.Sh("{ mount -t binfmt_misc none /tmp && echo ':fbtest:M::FBTEST-MAGIC::/bin/true:' >/tmp/register; } 2>/dev/null; true")
	r.Sh("{ unshare -Urmpinuf sh -c 'mount -t binfmt_misc none /tmp && echo :fbtest:M::FBTEST-MAGIC::/bin/true: >/tmp/register'; } 2>/dev/null; true")
	for _, s := range settings {
		set := "for v in 301 31 7 1 x; do echo $v >/proc/sys/" + s + "; done"
		r.Sh("{ " + set + "; unshare -Urmpinuf sh -c '" + set + "'; } 2>/dev/null; true")
	}
	file := filepath.Join(dir, "file")
	info, err := os.Stat(file)
	must(t, err)
	if info.ModTime().Year() == 2001 {
		t.Error("the host's file has the time that a box set")
	}
	must(t, os.WriteFile(file, []byte("not immutable\n"), 0o644))
	must(t, os.Remove(file))
	for _, s := range settings {
		after, _ := os.ReadFile("/proc/sys/" + s)
		if s != "kernel/ns_last_pid" && string(after) != before[s] {
			t.Errorf("/proc/sys/%s was %q and is %q", s, before[s], after)
		}
	}
	if _, err := os.Stat("/proc/sys/fs/binfmt_misc/fbtest"); err == nil {
		t.Error("a box has the host start programs with what it named")
	}
	if p, err := os.StartProcess(filepath.Join(dir, "magic"), []string{"magic"}, &os.ProcAttr{}); err == nil {
		_, _ = p.Wait()
		t.Error("the host starts a file of a kind that a box has named")
	}
}
