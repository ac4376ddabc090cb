// Package secrets knows what a box is not shown: files that hold credentials,
// sockets that act for their owner, environment variables that carry keys.
//
// It is one readable list. It is not a proof: a secret in a place that no
// program else uses is not known here. docs/SECURITY.md says so.
package secrets

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Entry is one path that a box sees empty.
type Entry struct {
	Path string // where its owner knows it
	// Target is what to hide: Path with symlinks resolved, because people
	// keep their dotfiles elsewhere and link to them. It need not exist.
	Target string
	Why    string
	Dir    bool
}

// known is a line of the list. Paths are relative to the home directory.
type known struct {
	path  string
	why   string
	dir   bool
	marks []string // a secret only when the file contains one of these
}

var inHome = []known{
	{path: ".ssh", why: "SSH keys", dir: true},
	{path: ".gnupg", why: "GnuPG keys and agent sockets", dir: true},
	{path: ".password-store", why: "passwords of pass", dir: true},
	{path: ".local/share/keyrings", why: "the desktop's keyring", dir: true},
	{path: ".local/share/kwalletd", why: "KDE's wallet", dir: true},
	{path: ".config/op", why: "1Password session", dir: true},
	{path: ".config/Bitwarden CLI", why: "Bitwarden session", dir: true},
	{path: ".config/sops", why: "age keys of sops", dir: true},
	{path: ".config/age", why: "age keys", dir: true},

	{path: ".aws", why: "AWS credentials", dir: true},
	{path: ".config/gcloud", why: "Google Cloud credentials", dir: true},
	{path: ".azure", why: "Azure credentials", dir: true},
	{path: ".oci", why: "Oracle Cloud credentials", dir: true},
	{path: ".config/doctl", why: "DigitalOcean token", dir: true},
	{path: ".config/hcloud", why: "Hetzner Cloud token", dir: true},
	{path: ".fly", why: "Fly.io token", dir: true},
	{path: ".config/heroku", why: "Heroku token", dir: true},
	{path: ".config/ngrok", why: "ngrok token", dir: true},
	{path: ".config/rclone", why: "rclone remotes", dir: true},
	{path: ".s3cfg", why: "S3 keys"},
	{path: ".boto", why: "cloud storage keys"},
	{path: ".kube", why: "Kubernetes credentials", dir: true},
	{path: ".vault-token", why: "Vault token"},
	{path: ".terraform.d/credentials.tfrc.json", why: "Terraform Cloud token"},
	{path: ".terraformrc", why: "Terraform Cloud token", marks: []string{"token"}},
	{path: ".pulumi/credentials.json", why: "Pulumi token"},

	{path: ".docker/config.json", why: "registry logins"},
	{path: ".config/containers/auth.json", why: "registry logins"},

	{path: ".git-credentials", why: "git passwords"},
	{path: ".config/git/credentials", why: "git passwords"},
	{path: ".config/gh/hosts.yml", why: "GitHub token"},
	{path: ".config/glab-cli", why: "GitLab token", dir: true},
	{path: ".config/hub", why: "GitHub token"},
	{path: ".netrc", why: "passwords by host"},

	{path: ".npmrc", why: "npm token", marks: []string{"_authToken", "_password", "_auth"}},
	{path: ".yarnrc.yml", why: "npm token", marks: []string{"npmAuthToken", "npmAuthIdent"}},
	{path: ".pypirc", why: "PyPI token"},
	{path: ".config/pypoetry/auth.toml", why: "PyPI token"},
	{path: ".cargo/credentials", why: "crates.io token"},
	{path: ".cargo/credentials.toml", why: "crates.io token"},
	{path: ".gem/credentials", why: "RubyGems key"},
	{path: ".m2/settings.xml", why: "Maven passwords", marks: []string{"<password", "<passphrase", "<privateKey"}},
	{path: ".m2/settings-security.xml", why: "Maven master password"},
	{path: ".gradle/gradle.properties", why: "Gradle passwords", marks: []string{"assword", "oken", "ecret"}},
	{path: ".nuget/NuGet/NuGet.Config", why: "NuGet passwords", marks: []string{"Password"}},
	{path: ".composer/auth.json", why: "Composer tokens"},
	{path: ".config/composer/auth.json", why: "Composer tokens"},

	{path: ".pgpass", why: "PostgreSQL passwords"},
	{path: ".my.cnf", why: "MySQL password", marks: []string{"password"}},
	{path: ".mylogin.cnf", why: "MySQL passwords"},

	{path: ".claude/.credentials.json", why: "Claude login"},
	{path: ".config/anthropic", why: "Anthropic key", dir: true},
	{path: ".codex/auth.json", why: "OpenAI login"},
	{path: ".config/openai", why: "OpenAI key", dir: true},
	{path: ".gemini/oauth_creds.json", why: "Google login"},
	{path: ".config/github-copilot", why: "GitHub Copilot login", dir: true},
	{path: ".cache/huggingface/token", why: "Hugging Face token"},
	{path: ".huggingface/token", why: "Hugging Face token"},

	{path: ".local/state/forkbox", why: "forkbox's boxes, logs and secrets", dir: true},

	// A browser's profile is a login to everything its user has open.
	{path: ".mozilla", why: "browser logins", dir: true},
	{path: ".config/google-chrome", why: "browser logins", dir: true},
	{path: ".config/chromium", why: "browser logins", dir: true},
	{path: ".config/BraveSoftware", why: "browser logins", dir: true},
	{path: ".config/microsoft-edge", why: "browser logins", dir: true},
	{path: "snap/firefox", why: "browser logins", dir: true},
	{path: "snap/chromium", why: "browser logins", dir: true},
}

// Paths lists what is hidden of a home directory. Shell history is not in it:
// it is not a credential, and people look for it. A file that is secret only
// with a token in it is listed only then.
func Paths(home string) []Entry {
	if !filepath.IsAbs(home) {
		return nil
	}
	return moved(home, ".", realDirs{})
}

// look is the entry of what is known to lie at path, if that is hidden. home is
// the directory that is never hidden for a link to it.
func look(k known, path, home string, dirs realDirs) (e Entry, hidden bool) {
	target := filepath.Join(dirs.of(filepath.Dir(path)), filepath.Base(path))
	info, err := os.Lstat(target)
	if err != nil {
		// Not there. It stays listed: it may come.
		return Entry{Path: path, Target: target, Why: k.why, Dir: k.dir}, k.marks == nil
	}
	if k.marks != nil && !contains(path, k.marks) {
		return e, false
	}
	dir := info.IsDir()
	if info.Mode()&os.ModeSymlink != 0 {
		target = resolve(target, home)
		dir = isDir(target, k.dir)
	}
	return Entry{Path: path, Target: target, Why: k.why, Dir: dir}, true
}

// maxMarked bounds how much of a settings file is searched for a token.
const maxMarked = 1 << 20

// contains says whether a file has one of the marks. One that is there but
// cannot be read, or is too large, counts as secret. The file may be of any
// user's making, and a pipe or a file of the kernel in its place must not keep
// the daemon waiting.
func contains(path string, marks []string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular() || info.Size() > maxMarked:
		return true
	case info.Size() == 0: // what the kernel makes up as it is read says so, too
		return false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxMarked))
	if err != nil {
		return true
	}
	for _, mark := range marks {
		if strings.Contains(string(data), mark) {
			return true
		}
	}
	return false
}

// resolve follows symlinks. A link to the home directory or above it is left
// alone: hiding everything is not what it asks for.
func resolve(path, home string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	if within(home, target) {
		return path
	}
	return target
}

// within says whether path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// realDirs remembers where directories really are: /home may be a link to
// /var/home, and ~/.config one into a repository of dotfiles. Hiding a secret
// at a path that leads through a link would leave it where the link leads.
// Each directory is looked at once, for this is on the way of every new box.
type realDirs map[string]string

func (r realDirs) of(dir string) string {
	if real, ok := r[dir]; ok {
		return real
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	real := filepath.Join(r.of(parent), filepath.Base(dir))
	if info, err := os.Lstat(real); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if target, err := filepath.EvalSymlinks(real); err == nil {
			real = target
		}
	}
	r[dir] = real
	return real
}
