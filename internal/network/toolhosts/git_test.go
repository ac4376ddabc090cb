package toolhosts

import "testing"

const gitConfig = `[core]
	url = https://no.example.com
[remote "origin"]
	url = git@ssh.example.com:ann/app.git
	pushurl = "ssh://git@push.example.com:2222/app"
[remote "web"]
	url = https://ann:token@web.example.com/app.git ; comment
	proxy = proxy.example.com:1080
[Remote "old"]
	URL = git://old.example.com/app
[remote "local"]
	url = /srv/app.git
[remote "near"]
	url = ../app:x
[remote "here"]
	url = http://localhost:3000/app
[submodule "s"]
	url = https://sub.example.com:8443/s
[branch "https://branch.example.com"]
	remote = origin
`

var gitFound = []string{"ssh.example.com:22", "push.example.com:2222", "web.example.com:443", "proxy.example.com:1080", "old.example.com:9418", "sub.example.com:8443"}

func gitFinds(w *world, file string) {
	w.t.Helper()
	var want []string
	for _, host := range gitFound {
		want = append(want, host+" private <- git ("+file+")")
	}
	w.finds(want...)
}

func TestGit(t *testing.T) {
	w := newWorld(t)
	w.file("home/ann/src/app/.git/config", gitConfig)
	w.file("home/ann/src/.git/config", "[remote \"x\"]\nurl = https://outer.example.com\n")
	gitFinds(w, "/home/ann/src/app/.git/config")
}

// TestGitElsewhere: worktrees and submodules have a file that says where.
func TestGitElsewhere(t *testing.T) {
	w := newWorld(t)
	w.file("home/ann/main/.git/config", gitConfig)
	w.file("home/ann/main/.git/worktrees/app/commondir", "../..\n")
	w.file("home/ann/src/app/.git", "gitdir: MACHINE/home/ann/main/.git/worktrees/app\n")
	gitFinds(w, "/home/ann/main/.git/config")

	w = newWorld(t)
	w.file("home/ann/src/.git/modules/app/config", gitConfig)
	w.file("home/ann/src/app/.git", "gitdir: ../.git/modules/app\n")
	gitFinds(w, "/home/ann/src/.git/modules/app/config")

	w = newWorld(t)
	w.file("home/ann/src/app/.git", "nonsense\n")
	w.finds()
}

func TestGitOwn(t *testing.T) {
	w := newWorld(t)
	w.file("home/ann/.gitconfig", "[url \"git@own.example.com:\"]\n\tinsteadOf = https://other.example.com/\n[http]\n\tproxy = http://p.example.com:8080\n")
	w.file("home/ann/.config/git/config", "[url \"https://xdg.example.com/\"]\n\tpushInsteadOf = x:\n")
	w.file("etc/gitconfig", "[url \"ssh://sys.example.com\"]\n\tinsteadOf = y:\n")
	w.finds("own.example.com:22 private <- git (/home/ann/.gitconfig)", "p.example.com:8080 private <- git (/home/ann/.gitconfig)",
		"xdg.example.com:443 private <- git (/home/ann/.config/git/config)", "sys.example.com:22 private <- git (/etc/gitconfig)")
}

func TestProxies(t *testing.T) {
	w := newWorld(t)
	w.opts.Env = []string{"http_proxy=http://a.example.com:3128/", "HTTPS_PROXY=u:p@b.example.com:8080", "ALL_PROXY=socks5h://c.example.com", "no_proxy=d.example.com", "ftp_proxy=http://127.0.0.1:3128"}
	w.finds("a.example.com:3128 private <- proxy (http_proxy)", "b.example.com:8080 private <- proxy (HTTPS_PROXY)", "c.example.com:1080 private <- proxy (ALL_PROXY)")
}
