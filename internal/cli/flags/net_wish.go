package flags

import (
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/network/toolhosts"
)

// found is what the preset balanced consists of: the hosts that the tools of
// this machine are configured to use. It is looked up here, with the caller's
// rights, home and environment.
func found() []forkbox.NetRule {
	home, _ := os.UserHomeDir()
	return toolhosts.Find(toolhosts.Options{Home: home, Dir: place.Here().Dir, Env: os.Environ(), Root: "/"})
}

// withFound adds them where they may be needed. A box that is made of another
// has that one's, unless the preset is asked for anew.
func (f *Net) withFound(wish forkbox.NetWish, inherits bool) forkbox.NetWish {
	preset := wish.Preset
	if preset == "" && wish.Project != nil {
		preset = wish.Project.Preset
	}
	if !f.ungated() && (preset == forkbox.PresetBalanced || preset == "" && !inherits) {
		wish.Found = found()
	}
	return wish
}

// Request is what network to ask for: the mode, and what it is to reach.
// project says that the project's file counts.
func (f *Net) Request(inherits, project bool) (net string, wish forkbox.NetWish, err error) {
	if wish, err = f.wish(); err != nil {
		return "", wish, err
	}
	net = f.mode(inherits)
	if project && !f.ungated() {
		if net, wish, err = withProjectNet(net, wish, inherits); err != nil {
			return "", wish, err
		}
	}
	if net == string(forkbox.NetNone) { // the project's
		return net, forkbox.NetWish{}, nil
	}
	return net, f.withFound(wish, inherits), nil
}
