package launch

import (
	"bytes"
	"os"

	"github.com/forkbox/forkbox"
)

// initName is what the first process of a box is called: boxinit.InitName.
const initName = "forkbox-init"

// notInABox refuses to start a daemon in a box: one would find none of the boxes
// that its user means, and could hardly make any. The first process of a box is
// this program under another name, and the host's name in it is that of the box.
func notInABox() error {
	line, err := os.ReadFile("/proc/1/cmdline")
	if err != nil || !bytes.HasPrefix(line, []byte(initName+"\x00")) {
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		name = "BOX"
	}
	return forkbox.Errorf(forkbox.Unsupported, "reach the daemon", "you are inside the box %s, and boxes are made and looked at from outside", name).
		Hint("leave it (exit), or use another terminal: forkbox diff %s shows there what was changed here", name)
}
