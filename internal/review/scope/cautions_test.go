package scope

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func cautionsFor(c forkbox.Change, n forkbox.Node) []string {
	if c.Type == "" {
		c.Type = "file"
	}
	if c.Kind == "" {
		c.Kind = forkbox.Added
	}
	return Cautions(c, n, "/w", "/people/me")
}

func TestCautionsByPlace(t *testing.T) {
	for why, paths := range map[string][]string{
		"git hook": {"/w/.git/hooks/pre-commit", "/x/.git/hooks/a/b", "/w/sub/.git/hooks/x", "/w/.git/modules/libs/a/hooks/post-checkout",
			"/w/.git/modules/a/modules/b/hooks/x", "/srv/bare.git/hooks/update", "/a.git/b/.git/hooks/x"},
		"git configuration": {"/w/.git/config", "/w/.git/config.worktree", "/w/.git", "/w/sub/.git", "/w/.git/modules/logs/config",
			"/w/.git/worktrees/t/config.worktree", "/w/.git/worktrees/t/commondir", "/root/.gitconfig", "/home/u/.config/git/config", "/srv/bare.git/config"},
		"commands that an editor or agent runs by itself": {
			"/w/.mcp.json", "/w/.vscode/tasks.json", "/w/a/.vscode/mcp.json", "/w/.cursor/mcp.json", "/w/.claude/settings.json",
			"/w/.claude/settings.local.json", "/w/.gemini/settings.json", "/w/.devcontainer.json", "/w/.devcontainer/devcontainer.json", "/w/.devcontainer/x/devcontainer.json",
		},
		"direnv file": {"/w/.envrc", "/w/a/b/.envrc", "/.envrc"},
		"shell profile": {"/root/.bashrc", "/home/u/.bash_profile", "/people/me/.profile", "/home/u/.zshrc", "/home/u/.zshenv", "/home/\xff\n/.zshenv",
			"/home/u/.config/fish/functions/a.fish", "/etc/profile", "/etc/profile.d/x.sh", "/etc/bash.bashrc", "/etc/environment"},
		"cron":                 {"/etc/crontab", "/etc/cron.d/x", "/etc/cron.daily/x", "/var/spool/cron/crontabs/root"},
		"systemd unit":         {"/etc/systemd/system/x.service", "/usr/lib/systemd/system/x", "/lib/systemd/system/x", "/home/u/.config/systemd/user/x"},
		"init script":          {"/etc/init.d/x", "/etc/rc.local", "/etc/rc3.d/S01x"},
		"sudoers":              {"/etc/sudoers", "/etc/sudoers.d/x"},
		"PAM":                  {"/etc/pam.d/sshd", "/etc/security/limits.conf"},
		"polkit rule":          {"/etc/polkit-1/rules.d/x.rules"},
		"SSH settings or keys": {"/root/.ssh/config", "/people/me/.ssh/rc", "/etc/ssh/sshd_config"},
		"user accounts":        {"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow"},
		"dynamic linker":       {"/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d/x.conf"},
		"kernel modules":       {"/etc/modprobe.d/x.conf"},
		"udev rule":            {"/etc/udev/rules.d/x.rules", "/lib/udev/rules.d/x"},
		"autostart":            {"/etc/xdg/autostart/x.desktop", "/home/u/.config/autostart/x.desktop"},
	} {
		for _, p := range paths {
			for _, kind := range []forkbox.Kind{forkbox.Added, forkbox.Modified, forkbox.Deleted, forkbox.Mode, forkbox.Type, forkbox.Linked} {
				if got := cautionsFor(forkbox.Change{Path: p, Kind: kind}, forkbox.Node{}); !slices.Equal(got, []string{why}) {
					t.Errorf("%s %q: %q, not %q", kind, p, got, why)
				}
			}
			for _, c := range []forkbox.Change{{Path: p, From: "/w/x"}, {Path: "/w/x", From: p}} {
				c.Kind = forkbox.Renamed
				if got := cautionsFor(c, forkbox.Node{}); !slices.Equal(got, []string{why}) {
					t.Errorf("%q renamed to %q: %q, not %q", c.From, c.Path, got, why)
				}
			}
		}
	}
}

func TestNoCautionByPlace(t *testing.T) {
	for _, p := range []string{
		"/w/a", "/w/hooks/pre-commit", "/w/.githooks/x", "/w/.github/hooks/x", "/w/.git/hooks/pre-commit.sample", "/w/.git/index",
		"/w/.git/refs/heads/config", "/w/.git/objects/ab/cd", "/w/.gitignore", "/w/.bashrc", "/w/etc/passwd", "/etc/passwords", "/etc/hosts",
		"/home/.bashrc", "/people/you/.bashrc", "/home/u/x/.bashrc", "/home/u/.ssh2", "/w/.envrc.example", "/var/spool/cronies", "/root", "/",
	} {
		if got := cautionsFor(forkbox.Change{Path: p}, forkbox.Node{}); got != nil {
			t.Errorf("%q: %q", p, got)
		}
	}
}

// TestCautionsForDirectories: what is below a directory that goes or moves is
// touched; what is below a new one comes as changes of its own.
func TestCautionsForDirectories(t *testing.T) {
	for _, c := range []struct {
		change forkbox.Change
		want   []string
	}{
		{forkbox.Change{Path: "/w/.git/hooks", Kind: forkbox.Added}, nil},
		{forkbox.Change{Path: "/w/.git/hooks", Kind: forkbox.Deleted}, []string{"git hook"}},
		{forkbox.Change{Path: "/w/.git", Kind: forkbox.Deleted}, []string{"git hook", "git configuration"}},
		{forkbox.Change{Path: "/w/.git", Kind: forkbox.Added}, nil},
		{forkbox.Change{Path: "/w/.git", From: "/w/evil", Kind: forkbox.Renamed}, []string{"git hook", "git configuration"}},
		{forkbox.Change{Path: "/w/.git/modules/a", Kind: forkbox.Deleted}, []string{"git hook", "git configuration"}},
		{forkbox.Change{Path: "/w/.git/objects", Kind: forkbox.Deleted}, nil},
		{forkbox.Change{Path: "/etc/systemd", From: "/w/x", Kind: forkbox.Renamed}, []string{"systemd unit"}},
		{forkbox.Change{Path: "/usr/lib", Kind: forkbox.Deleted}, []string{"systemd unit", "udev rule"}},
		{forkbox.Change{Path: "/usr/lib", Kind: forkbox.Mode}, nil},
		{forkbox.Change{Path: "/home/u/.ssh", Kind: forkbox.Mode}, []string{"SSH settings or keys"}},
		{forkbox.Change{Path: "/home/u/.ssh", Kind: forkbox.Deleted}, []string{"authorized_keys", "SSH settings or keys"}},
		{forkbox.Change{Path: "/w/src", Kind: forkbox.Deleted}, nil},
	} {
		c.change.Type = "dir"
		if got := cautionsFor(c.change, forkbox.Node{}); !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %q, not %q", c.change.Kind, c.change.Path, got, c.want)
		}
	}
}

// TestCautionWhereADirectoryWas: a file or a link in its place takes all that
// was in it away.
func TestCautionWhereADirectoryWas(t *testing.T) {
	c := forkbox.Change{Path: "/home/u/.config", Kind: forkbox.Type, Type: "symlink", OldMode: fs.ModeDir | 0o755}
	want := []string{"git configuration", "direnv file", "shell profile", "systemd unit", "autostart"}
	if got := cautionsFor(c, forkbox.Node{}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestCautionsByNode(t *testing.T) {
	capability := map[string][]byte{"security.capability": {1}}
	for _, c := range []struct {
		change forkbox.Change
		node   forkbox.Node
		want   []string
	}{
		{forkbox.Change{}, forkbox.Node{Mode: 0o755}, nil},
		{forkbox.Change{}, forkbox.Node{Mode: fs.ModeSetuid | 0o755}, []string{"setuid"}},
		{forkbox.Change{}, forkbox.Node{Mode: fs.ModeSetuid | fs.ModeSetgid | 0o755}, []string{"setuid", "setgid"}},
		{forkbox.Change{Kind: forkbox.Modified, OldMode: fs.ModeSetuid | 0o755}, forkbox.Node{Mode: fs.ModeSetuid | 0o755}, []string{"setuid"}},
		{forkbox.Change{}, forkbox.Node{Mode: fs.ModeDir | fs.ModeSetgid | 0o755}, nil},
		{forkbox.Change{}, forkbox.Node{Mode: 0o755, Xattrs: capability}, []string{"has capabilities"}},
		{forkbox.Change{}, forkbox.Node{Mode: 0o666}, []string{"anyone can write to it"}},
		{forkbox.Change{Kind: forkbox.Modified, OldMode: 0o666}, forkbox.Node{Mode: 0o666}, nil}, // as before
		{forkbox.Change{Kind: forkbox.Mode, OldMode: 0o644}, forkbox.Node{Mode: 0o666}, []string{"anyone can write to it"}},
		{forkbox.Change{}, forkbox.Node{Mode: fs.ModeDir | 0o777}, []string{"anyone can write to it"}},
		{forkbox.Change{}, forkbox.Node{Mode: fs.ModeDir | fs.ModeSticky | 0o777}, nil},
		{forkbox.Change{Kind: forkbox.Mode, OldMode: fs.ModeDir | fs.ModeSticky | 0o777}, forkbox.Node{Mode: fs.ModeDir | 0o777}, []string{"anyone can write to it"}},
		{forkbox.Change{Path: "/tmp/x"}, forkbox.Node{Mode: 0o666}, nil},
		{forkbox.Change{Path: "/tmp", Kind: forkbox.Mode}, forkbox.Node{Mode: fs.ModeDir | 0o777}, []string{"anyone can write to it"}},
		{forkbox.Change{}, forkbox.Node{Mode: fs.ModeSymlink | 0o777, Target: "x"}, nil},
		{forkbox.Change{}, forkbox.Node{Mode: fs.ModeSocket | 0o777}, nil},
		{forkbox.Change{Type: "char"}, forkbox.Node{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o600}, []string{"device node"}},
		{forkbox.Change{Type: "block"}, forkbox.Node{Mode: fs.ModeDevice | 0o600}, []string{"device node"}},
		{forkbox.Change{Hidden: true}, forkbox.Node{Mode: 0o644}, []string{"the box was not shown what is there"}},
		{forkbox.Change{Hidden: true, Kind: forkbox.Deleted}, forkbox.Node{}, []string{"the box was not shown what is there"}},
		{forkbox.Change{Path: "/etc/sudoers.d/x", Hidden: true}, forkbox.Node{Mode: fs.ModeSetuid | 0o755},
			[]string{"the box was not shown what is there", "setuid", "sudoers"}},
	} {
		if c.change.Path == "" {
			c.change.Path = "/opt/x"
		}
		if got := cautionsFor(c.change, c.node); !slices.Equal(got, c.want) {
			t.Errorf("%+v with %v: %q, not %q", c.change, c.node.Mode, got, c.want)
		}
	}
}

func TestLinksThatLeaveTheWorkspace(t *testing.T) {
	for _, c := range []struct {
		path, target string
		leaves       bool
	}{
		{"/w/l", "a", false},
		{"/w/l", "/w/a/b", false},
		{"/w/l", "/w", false},
		{"/w/l", ".", false},
		{"/w/a/l", "../b", false},
		{"/w/l", "..", true},
		{"/w/l", "../w2", true},
		{"/w/l", "../w/a", false},
		{"/w/l", "/etc/passwd", true},
		{"/w/l", "/w/../etc", true},
		{"/w/l", "/wide", true},
		{"/w/a/l", "../../x", true},
		{"/w/l", "\xff\n", false},
		{"/etc/l", "/usr/x", false},
	} {
		n := forkbox.Node{Mode: fs.ModeSymlink | 0o777, Target: c.target}
		got := cautionsFor(forkbox.Change{Path: c.path, Type: "symlink"}, n)
		if leaves := slices.Contains(got, "symlink that points outside the workspace"); leaves != c.leaves {
			t.Errorf("%q to %q: %q", c.path, c.target, got)
		}
	}
	n := forkbox.Node{Mode: fs.ModeSymlink, Target: "/etc"}
	if got := Cautions(forkbox.Change{Path: "/w/l", Kind: forkbox.Added, Type: "symlink"}, n, "", ""); got != nil {
		t.Errorf("without a workspace: %q", got)
	}
}
