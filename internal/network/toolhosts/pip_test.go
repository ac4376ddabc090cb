package toolhosts

import (
	"strings"
	"testing"
)

const indexPy = `class PackageIndex:
    pass

Usual = PackageIndex("https://pip.example.com/", file_storage_domain="files.example.com")
Test = PackageIndex(
    "https://test.example.com/", file_storage_domain="test-files.example.com"
)
`

func TestPip(t *testing.T) {
	w := newWorld(t)
	w.file("usr/lib/python3/dist-packages/pip/_internal/models/index.py", indexPy)
	const builtIn = "pip.example.com:443 private <- pip (/usr/lib/python3/dist-packages/pip/_internal/models/index.py)"
	const files = "files.example.com:443 private <- pip (/usr/lib/python3/dist-packages/pip/_internal/models/index.py)"
	w.finds(builtIn, files)

	w.file("home/ann/.config/pip/pip.conf", "[global]\nextra-index-url =\n    https://a.example.com/simple?x=1\n    http://b.example.com:8080/simple\nproxy = p.example.com:3128\ntrusted-host = no.example.com\n")
	extra := []string{"a.example.com:443 private <- pip (/home/ann/.config/pip/pip.conf)", "b.example.com:8080 private <- pip (/home/ann/.config/pip/pip.conf)",
		"p.example.com:3128 private <- pip (/home/ann/.config/pip/pip.conf)"}
	w.finds(append(extra, builtIn, files)...)

	w.file("etc/pip.conf", "[install]\nindex_url: no\nindex_url = https://name:token@sys.example.com/simple\nfind-links = https://links.example.com/x /srv/wheels\n")
	w.finds(append(extra, "sys.example.com:443 private <- pip (/etc/pip.conf)", "links.example.com:443 private <- pip (/etc/pip.conf)")...)
}

func TestPipEnvironment(t *testing.T) {
	w := newWorld(t)
	w.file("venv/pip.conf", "[global]\nindex-url = https://venv.example.com\n")
	w.file("my.conf", "[global]\nextra-index-url = https://mine.example.com\n")
	w.file("home/ann/.pip/pip.conf", "[global]\nextra-index-url = https://old.example.com\n")
	w.opts.Env = []string{"PIP_INDEX_URL=https://i.example.com", "PIP_EXTRA_INDEX_URL=https://e.example.com https://f.example.com", "PIP_FIND_LINKS=https://l.example.com", "PIP_PROXY=x.example.com:1",
		"VIRTUAL_ENV=" + w.root + "/venv", "PIP_CONFIG_FILE=" + w.root + "/my.conf"}
	w.finds("i.example.com:443 private <- pip (PIP_INDEX_URL)", "e.example.com:443 private <- pip (PIP_EXTRA_INDEX_URL)", "f.example.com:443 private <- pip (PIP_EXTRA_INDEX_URL)",
		"l.example.com:443 private <- pip (PIP_FIND_LINKS)", "x.example.com:1 private <- pip (PIP_PROXY)", "old.example.com:443 private <- pip (/home/ann/.pip/pip.conf)",
		"mine.example.com:443 private <- pip (/my.conf)", "venv.example.com:443 <- pip (/venv/pip.conf)")
}

// TestPipPlaces: each place that pip is installed in.
func TestPipPlaces(t *testing.T) {
	for _, dir := range []string{"usr/lib/python3/dist-packages", "usr/lib/python3.12/site-packages", "usr/local/lib/python3.11/dist-packages", "usr/local/lib/python3.11/site-packages",
		"home/ann/.local/lib/python3.12/site-packages", "home/ann/.pyenv/versions/3.12.1/lib/python3.12/site-packages"} {
		w := newWorld(t)
		file := dir + "/pip/_internal/models/index.py"
		w.file(file, strings.ReplaceAll(indexPy, `("https`, "(\n    \"https"))
		w.finds("pip.example.com:443 private <- pip (/"+file+")", "files.example.com:443 private <- pip (/"+file+")")
	}
}
