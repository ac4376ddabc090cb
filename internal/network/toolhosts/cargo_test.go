package toolhosts

import "testing"

func TestCargo(t *testing.T) {
	w := newWorld(t)
	w.file("home/ann/src/app/.cargo/config.toml", `
[registries.corp]
index = "sparse+https://project.example.com/index/" # index = "https://comment.example.com"
# index = "https://comment.example.com"
[registries]
inline = { index = "https://inline.example.com", token = "https://secret.example.com" }
registries.dotted.index = 'registry+https://dotted.example.com:8443/x#y'
[alias]
reindex = "https://no.example.com"
`)
	w.file("home/ann/src/.cargo/config", "[source.x]\nregistry = \"https://old.example.com\"\n")
	w.file("home/ann/.cargo/config.toml", "[source.mirror]\nregistry=\"sparse+https://mirror.example.com/\"\n[source.vcs]\ngit = \"ssh://git@vcs.example.com/x\"\n[http]\nproxy = \"proxy.example.com:8080\"\n")
	w.file("home/ann/.cargo/registry/index/index.example.com-1949cf8c6b5b557f/config.json", `{"dl": "https://dl.example.com/{crate}/{version}", "api": "https://api.example.com"}`)
	w.mkdir("home/ann/.cargo/registry/index/git-host.example.com-1ecc6299db9ec823")
	w.mkdir("home/ann/.cargo/registry/index/no-index")
	w.opts.Env = []string{"CARGO_REGISTRIES_MINE_INDEX=sparse+https://env.example.com/", "CARGO_HTTP_PROXY=p.example.com:1", "CARGO_REGISTRIES_MINE_TOKEN=https://secret.example.com"}
	w.finds(
		"project.example.com:443 <- cargo (/home/ann/src/app/.cargo/config.toml)",
		"inline.example.com:443 <- cargo (/home/ann/src/app/.cargo/config.toml)",
		"dotted.example.com:8443 <- cargo (/home/ann/src/app/.cargo/config.toml)",
		"old.example.com:443 <- cargo (/home/ann/src/.cargo/config)",
		"env.example.com:443 private <- cargo (CARGO_REGISTRIES_MINE_INDEX)",
		"p.example.com:1 private <- cargo (CARGO_HTTP_PROXY)",
		"mirror.example.com:443 private <- cargo (/home/ann/.cargo/config.toml)",
		"vcs.example.com:22 private <- cargo (/home/ann/.cargo/config.toml)",
		"proxy.example.com:8080 private <- cargo (/home/ann/.cargo/config.toml)",
		"git-host.example.com:443 private <- cargo (/home/ann/.cargo/registry/index/git-host.example.com-1ecc6299db9ec823)",
		"index.example.com:443 private <- cargo (/home/ann/.cargo/registry/index/index.example.com-1949cf8c6b5b557f)",
		"dl.example.com:443 private <- cargo (/home/ann/.cargo/registry/index/index.example.com-1949cf8c6b5b557f/config.json)",
		"api.example.com:443 private <- cargo (/home/ann/.cargo/registry/index/index.example.com-1949cf8c6b5b557f/config.json)",
	)
}

func TestCargoHome(t *testing.T) {
	w := newWorld(t)
	w.file("cargo/config.toml", "registries.x.index = \"https://x.example.com\"")
	w.opts.Env = []string{"CARGO_HOME=" + w.root + "/cargo"}
	w.finds("x.example.com:443 private <- cargo (/cargo/config.toml)")
}
