package scope

import (
	"path"
	"slices"

	"github.com/forkbox/forkbox"
)

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
