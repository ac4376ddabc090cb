package scope

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Cautions says in plain words why a change deserves a second look before it
// lands, in an order that does not vary. new is what the box has at the path;
// for a deletion it is zero. root is the workspace ("" for none) and home that
// of the caller.
//
// A change is judged by itself. The new files of a new directory are changes
// of their own, but those of a renamed directory are not, and are not seen
// here: only the places where it was and is.
func Cautions(c forkbox.Change, new forkbox.Node, root, home string) []string {
	var whys []string
	if c.Hidden {
		whys = append(whys, "the box was not shown what is there")
	}
	if c.Kind != forkbox.Deleted {
		whys = append(whys, nodeCautions(c, new)...)
		if leaves(c.Path, new, root) {
			whys = append(whys, "symlink that points outside the workspace")
		}
	}
	return append(whys, placeCautions(c, home)...)
}

// traits are what can be dangerous about a file wherever it lies.
var traits = []struct {
	why string
	has func(c forkbox.Change, n forkbox.Node) bool
}{
	{"setuid", func(_ forkbox.Change, n forkbox.Node) bool {
		return n.Mode.IsRegular() && n.Mode&fs.ModeSetuid != 0
	}},
	// On a directory it only says which group new files get.
	{"setgid", func(_ forkbox.Change, n forkbox.Node) bool {
		return n.Mode.IsRegular() && n.Mode&fs.ModeSetgid != 0
	}},
	{"has capabilities", func(_ forkbox.Change, n forkbox.Node) bool {
		_, ok := n.Xattrs["security.capability"]
		return ok
	}},
	{"anyone can write to it", opened},
	{"device node", func(c forkbox.Change, n forkbox.Node) bool {
		return n.Mode&fs.ModeDevice != 0 || c.Type == "char" || c.Type == "block"
	}},
}

func nodeCautions(c forkbox.Change, n forkbox.Node) []string {
	var whys []string
	for _, t := range traits {
		if t.has(c, n) {
			whys = append(whys, t.why)
		}
	}
	return whys
}

// opened says whether a file or directory became writable for all users. It is
// usual below /tmp, and harmless in a directory where the sticky bit keeps
// people from each other's files.
func opened(c forkbox.Change, n forkbox.Node) bool {
	const everybody = 0o002
	switch {
	case n.Mode&everybody == 0 || c.OldMode&everybody != 0 && c.OldMode&fs.ModeSticky == n.Mode&fs.ModeSticky:
		return false
	case n.Mode.IsDir() && n.Mode&fs.ModeSticky != 0:
		return false
	case !n.Mode.IsDir() && !n.Mode.IsRegular():
		return false
	}
	temporary := []string{"/tmp", "/var/tmp", "/dev/shm"}
	return !slices.ContainsFunc(temporary, func(dir string) bool {
		return c.Path != dir && forkbox.Within(c.Path, dir)
	})
}

// leaves says whether n is a symlink in the workspace that leads out of it, by
// its words: what other links make of them is not looked at.
func leaves(p string, n forkbox.Node, root string) bool {
	if root == "" || n.Mode&fs.ModeSymlink == 0 || !forkbox.Within(p, root) {
		return false
	}
	return !forkbox.Within(from(path.Dir(p), n.Target), root)
}

// isHook finds what git runs. The examples that git puts into every new
// repository have names that it does not run.
func isHook(at spot) bool {
	return inAnyGit(at.path, func(names []string) bool {
		if len(names) == 0 || gitPart(names) != "hooks" {
			return at.whole && holdsGitDirs(names)
		}
		return !strings.HasSuffix(at.path, ".sample") || at.dir
	})
}

// isBareGit finds what makes a directory of any name a repository for git,
// which then runs what its configuration names.
func isBareGit(at spot) bool {
	return !at.dir && strings.HasSuffix(at.path, "/HEAD") && !inAnyGit(at.path, func([]string) bool { return true })
}

// isGitConfig finds what can have git run commands (hooksPath, fsmonitor,
// sshCommand, filters) or look for its configuration elsewhere: a .git that is
// a file or a symlink, and a commondir.
func isGitConfig(at spot) bool {
	if strings.HasSuffix(at.path, "/.git") && !at.dir {
		return true
	}
	return inAnyGit(at.path, func(names []string) bool {
		if len(names) == 0 || !slices.Contains([]string{"config", "config.worktree", "commondir"}, names[len(names)-1]) {
			return at.whole && holdsGitDirs(names)
		}
		return len(names) == 1 || names[0] == "modules" || names[0] == "worktrees"
	})
}

// holdsGitDirs says whether a directory that is gone or moved had, as far as
// its name tells, hooks and configuration in it.
func holdsGitDirs(names []string) bool {
	return len(names) == 0 || gitPart(names) == ""
}

// inAnyGit asks about the rest of a path below each of its names that is that
// of a git directory: .git, or project.git for a bare one.
func inAnyGit(p string, ask func(rest []string) bool) bool {
	if !strings.Contains(p, ".git") {
		return false
	}
	names := strings.Split(p, "/")
	for i, name := range names {
		if strings.HasSuffix(name, ".git") && ask(names[i+1:]) {
			return true
		}
	}
	return false
}

// sensitive are the places where a file does something by being there: it is
// run, or grants rights. A place is a path with all that is below it; "~" is
// any home, and a name that ends in a star begins so. also finds what can lie
// anywhere.
var sensitive = []struct {
	why    string
	places []string
	also   func(at spot) bool
}{
	{"git hook", nil, isHook},
	{"git configuration", []string{"~/.gitconfig", "~/.config/git/config", "/etc/gitconfig"}, isGitConfig},
	{"git repository in a directory of another name", nil, isBareGit},
	{"direnv file", []string{"~/.config/direnv"}, func(at spot) bool { return path.Base(at.path) == ".envrc" }},
	{"commands that an editor or agent runs by itself", nil, isStarter},
	{"shell profile", []string{
		"~/.bashrc", "~/.bash_profile", "~/.bash_login", "~/.bash_logout", "~/.bash_aliases", "~/.profile",
		"~/.zshrc", "~/.zshenv", "~/.zprofile", "~/.zlogin", "~/.zlogout", "~/.kshrc", "~/.config/fish",
		"~/.xprofile", "~/.xinitrc", "~/.xsession", "~/.xsessionrc", "~/.pam_environment", "~/.config/environment.d",
		"/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh*", "/etc/fish",
		"/etc/environment", "/etc/environment.d",
	}, nil},
	{"cron", []string{"/etc/cron*", "/etc/anacrontab", "/var/spool/cron", "/var/spool/at"}, nil},
	{"systemd unit", []string{
		"/etc/systemd", "/usr/lib/systemd", "/usr/local/lib/systemd", "/lib/systemd",
		"~/.config/systemd", "~/.local/share/systemd",
	}, nil},
	{"init script", []string{"/etc/init.d", "/etc/init", "/etc/inittab", "/etc/rc*"}, nil},
	{"sudoers", []string{"/etc/sudoers", "/etc/sudoers.d"}, nil},
	{"PAM", []string{"/etc/pam.d", "/etc/pam.conf", "/etc/security"}, nil},
	{"polkit rule", []string{"/etc/polkit-1", "/usr/share/polkit-1"}, nil},
	{"authorized_keys", []string{"~/.ssh/authorized_keys*", "/etc/ssh/authorized_keys*"}, nil},
	{"SSH settings or keys", []string{"~/.ssh", "/etc/ssh"}, nil},
	{"user accounts", []string{
		"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/subuid", "/etc/subgid",
	}, nil},
	{"dynamic linker", []string{"/etc/ld.so.preload", "/etc/ld.so.conf*"}, nil},
	{"kernel modules", []string{"/etc/modprobe.d", "/etc/modules*"}, nil},
	{"udev rule", []string{"/etc/udev", "/usr/lib/udev", "/lib/udev"}, nil},
	{"autostart", []string{"/etc/xdg/autostart", "~/.config/autostart", "~/.config/autostart-scripts"}, nil},
}

// isStarter says whether a file has commands that are run when its directory is
// opened, after one yes at most.
func isStarter(at spot) bool {
	name, in := path.Base(at.path), path.Base(path.Dir(at.path))
	switch name {
	case ".mcp.json", ".devcontainer.json":
		return true
	case "tasks.json":
		return in == ".vscode"
	case "mcp.json":
		return in == ".vscode" || in == ".cursor"
	case "devcontainer.json":
		return in == ".devcontainer" || path.Base(path.Dir(path.Dir(at.path))) == ".devcontainer"
	case "settings.json", "settings.local.json":
		return in == ".claude" || in == ".gemini"
	}
	return false
}

// placeCautions names the sensitive places that a change touches.
func placeCautions(c forkbox.Change, home string) []string {
	// What is in a new directory comes as changes of its own.
	if c.Kind == forkbox.Added && c.Type == "dir" {
		return nil
	}
	spots := spotsOf(c, home)
	var whys []string
	for _, s := range sensitive {
		touched := func(at spot) bool {
			return s.also != nil && s.also(at) || slices.ContainsFunc(s.places, at.touches)
		}
		if slices.ContainsFunc(spots, touched) {
			whys = append(whys, s.why)
		}
	}
	return whys
}

// Named says which of some places a change touches: their why, by path.
func Named(c forkbox.Change, places map[string]string) (whys []string) {
	if c.Kind == forkbox.Added && c.Type == "dir" {
		return nil
	}
	spots := spotsOf(c, "")
	for place, why := range places {
		if slices.ContainsFunc(spots, func(at spot) bool { return at.touches(place) }) {
			whys = append(whys, why)
		}
	}
	slices.Sort(whys)
	return slices.Compact(whys)
}

// spotsOf: a renamed path is touched where it is and where it was.
func spotsOf(c forkbox.Change, home string) []spot {
	dir, whole := c.Type == "dir", takesAll(c)
	spots := []spot{newSpot(c.Path, home, dir, whole)}
	if c.Kind == forkbox.Renamed && c.From != "" {
		spots = append(spots, newSpot(c.From, home, dir, whole))
	}
	return spots
}

func takesAll(c forkbox.Change) bool {
	switch c.Kind {
	case forkbox.Deleted, forkbox.Renamed:
		return c.Type == "dir"
	case forkbox.Type:
		return c.OldMode.IsDir()
	}
	return false
}
