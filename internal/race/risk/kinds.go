package risk

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/forkbox/forkbox"
)

// kind sorts notes, what matters most first.
type kind int

const (
	hidden kind = iota
	secrets
	judges
	testsGone
	tests
	testConfig
	hooks
	ci
	agents
	setuid
	special
	links
	locks
	manifests
	sources
	recipes
	foreign
	executables
	outside
	large
	lastKind
)

const (
	manyDeleted = 20
	largeFile   = 5 << 20
	largeBinary = 1 << 20
)

// verb is what a change does.
func verb(c forkbox.Change) string {
	switch c.Kind {
	case forkbox.Added:
		return "adds"
	case forkbox.Deleted:
		return "deletes"
	case forkbox.Renamed:
		return "moves"
	case forkbox.Mode:
		return "changes the mode or owner of"
	case forkbox.Type, forkbox.Linked:
		return "replaces"
	}
	return "changes"
}

// addNode is about what a file is, wherever it lies.
func (n *Notes) addNode(c forkbox.Change) {
	if c.Kind == forkbox.Deleted {
		return
	}
	switch c.Type {
	case "symlink":
		n.addLink(c)
	case "file":
		n.addFile(c)
	case "char", "block", "fifo", "socket":
		n.note(special, c, verb(c)+" a special file ("+c.Type+")")
	}
}

// addRights is about files that run with another user's rights.
func (n *Notes) addRights(c forkbox.Change) {
	ids := c.Mode & (fs.ModeSetuid | fs.ModeSetgid)
	if c.Type == "file" && c.Kind != forkbox.Deleted && ids != 0 && c.OldMode&ids != ids {
		n.note(setuid, c, "has a file run with the rights of its owner or group")
	}
}

func (n *Notes) addFile(c forkbox.Change) {
	const run = 0o111
	n.addRights(c)
	switch {
	case c.Mode&run == 0:
	case c.Kind == forkbox.Added:
		n.note(executables, c, "adds an executable file")
	case c.OldMode != 0 && c.OldMode&run == 0:
		n.note(executables, c, "makes a file executable")
	}
	grown := c.Size > c.OldSize || c.Kind == forkbox.Added
	if grown && (c.Size >= largeFile || c.Binary && c.Size >= largeBinary) {
		n.note(large, c, fmt.Sprintf("%s a large file: %.1f MB", verb(c), float64(c.Size)/1e6))
	}
}

// addLink: where a symlink leads is in its patch, if there is one.
func (n *Notes) addLink(c forkbox.Change) {
	target, known := linkTarget(c.Patch)
	switch {
	case c.Kind == forkbox.Mode || c.Kind == forkbox.Renamed && !known:
	case !known:
		n.note(links, c, verb(c)+" a symlink: see where it leads")
	case n.Root != "" && !forkbox.Within(resolved(c.Path, target), n.Root):
		n.note(links, c, verb(c)+" a symlink that leads out of the workspace")
	}
}

func resolved(link, target string) string {
	if path.IsAbs(target) {
		return path.Clean(target)
	}
	return path.Join(path.Dir(link), target)
}

// linkTarget is what a patch adds; of a symlink that is its target.
func linkTarget(patch []byte) (string, bool) {
	_, hunk, found := bytes.Cut(patch, []byte("\n@@ "))
	if !found {
		return "", false
	}
	var added []string
	for line := range strings.Lines(string(hunk)) {
		if rest, ok := strings.CutPrefix(line, "+"); ok {
			added = append(added, rest)
		}
	}
	return strings.TrimSuffix(strings.Join(added, ""), "\n"), len(added) > 0
}

// countDeleted counts paths; a directory counts with all that was in it.
func (n *Notes) countDeleted(c forkbox.Change) {
	if c.Kind != forkbox.Deleted {
		return
	}
	if n.gone == "" {
		n.gone = c.Path
	}
	n.deleted += 1 + c.Entries
}
