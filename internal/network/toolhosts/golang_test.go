package toolhosts

import "testing"

func TestGo(t *testing.T) {
	w := newWorld(t)
	w.file("usr/lib/go-1.22/go.env", "# defaults\nGOPROXY=https://proxy.example.com,direct\nGOSUMDB=sum.example.com\n")
	w.finds("proxy.example.com:443 private <- go (/usr/lib/go-1.22/go.env)", "sum.example.com:443 private <- go (/usr/lib/go-1.22/go.env)")

	w.file("home/ann/.config/go/env", "GOPROXY='http://u:p@corp.example.com:3000/x|https://second.example.com,off'\n")
	w.finds("corp.example.com:3000 private <- go (/home/ann/.config/go/env)", "second.example.com:443 private <- go (/home/ann/.config/go/env)",
		"sum.example.com:443 private <- go (/usr/lib/go-1.22/go.env)")

	w.opts.Env = []string{"GOPROXY=direct", "GOSUMDB=sum.example.org+0a1b2c https://mirror.example.org/sumdb"}
	w.finds("mirror.example.org:443 private <- go (GOSUMDB)")
	w.opts.Env = []string{"GOPROXY=off", "GOSUMDB=other.example.org+0a1b2c"}
	w.finds("other.example.org:443 private <- go (GOSUMDB)")
	w.opts.Env = []string{"GOPROXY=file:///srv/proxy", "GOSUMDB=off"}
	w.finds()
}

// TestGoPlaces: each place that the defaults and the user's choice can be in.
func TestGoPlaces(t *testing.T) {
	const text = "GOPROXY=https://proxy.example.com"
	for file, env := range map[string]string{
		"usr/local/go/go.env": "", "usr/lib/go/go.env": "", "opt/go/go.env": "GOROOT=/opt/go", "opt/sdk/go.env": "PATH=/opt/sdk/bin",
		"home/ann/.config/go/env": "", "xdg/go/env": "XDG_CONFIG_HOME=MACHINE/xdg", "my/env": "GOENV=MACHINE/my/env",
	} {
		w := newWorld(t)
		w.file("opt/sdk/bin/go", "")
		w.file(file, text)
		w.file("env", env)
		w.opts.Env = []string{read(w.root+"/env", mostText)}
		w.finds("proxy.example.com:443 private <- go (/" + file + ")")
	}
	w := newWorld(t)
	w.file("home/ann/.config/go/env", text)
	w.opts.Env = []string{"GOENV=off"}
	w.finds()
}
