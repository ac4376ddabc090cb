//go:build linux

package boxinit

import (
	"fmt"
	"os"

	"github.com/forkbox/forkbox/internal/linux"
)

// claimed is init's side: from here on the box outlives its daemon.
func (p *pid1) claimed(name string, hosts []byte) {
	if err := p.takeName(name, hosts); err != nil {
		fmt.Fprintln(os.Stderr, "forkbox-init: become", name+":", err)
		os.Exit(1)
	}
}

func (p *pid1) takeName(name string, hosts []byte) error {
	p.mu.Lock()
	p.config.Spare = false
	p.mu.Unlock()
	for fd, content := range map[int][]byte{p.config.HostsFD: hosts, p.config.NameFD: []byte(name + "\n")} {
		f := os.NewFile(uintptr(fd), "veil")
		if _, err := f.WriteAt(content, 0); err != nil {
			return err
		}
		// Afterwards, when as a rule it is no shorter than what it was: to
		// empty it first would be to give its memory back and ask for it again.
		if err := f.Truncate(int64(len(content))); err != nil {
			return err
		}
		f.Close()
	}
	return linux.SetHostname(name)
}
