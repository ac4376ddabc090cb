package toolhosts

import (
	"strings"
	"testing"
)

// BenchmarkAbsent: it is done at each start of a box, also where there is nothing.
func BenchmarkAbsent(b *testing.B) {
	w := newWorld(b)
	w.opts.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for b.Loop() {
		Find(w.opts)
	}
}

// BenchmarkPresent: a machine with all of the tools.
func BenchmarkPresent(b *testing.B) {
	w := newWorld(b)
	w.opts.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	// npm's definition is near the end of 90 KB.
	w.file("usr/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions/definitions.js", strings.Repeat("  // a registry is mentioned here\n"+strings.Repeat("  // as are other things\n", 50), 70)+definitions)
	w.file("home/ann/.npmrc", "@x:registry=https://x.example.com")
	w.file("usr/local/go/go.env", "GOPROXY=https://proxy.example.com\nGOSUMDB=sum.example.com")
	for _, v := range []string{"3.8.1", "3.9.1", "3.10.1", "3.11.1", "3.12.1", "3.13.1"} {
		w.file("home/ann/.pyenv/versions/"+v+"/lib/python3/site-packages/pip/_internal/models/index.py", indexPy)
	}
	w.file("etc/apt/sources.list.d/x.sources", "URIs: http://deb.example.com")
	w.file("home/ann/.cargo/config.toml", "registries.x.index = \"https://x.example.com\"")
	w.file("home/ann/src/app/.git/config", gitConfig)
	if n := len(Find(w.opts)); n != 13 {
		b.Fatal(n)
	}
	for b.Loop() {
		Find(w.opts)
	}
}

// BenchmarkHere is this machine, whatever it has.
func BenchmarkHere(b *testing.B) {
	o := Options{Home: b.TempDir(), Dir: b.TempDir(), Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}
	for b.Loop() {
		Find(o)
	}
}
