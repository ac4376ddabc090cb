//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
)

// A history is a list of steps, one a line, such as
//
//	real append d/f L7      reality gets the line L7 at the end of d/f
//	box b1 mv d e           in the box b1, d becomes e
//	apply b1 d              what b1 changed at d lands
//	kill                    kill -9 of the daemon
//	killed 30 apply b1      the same, 30 ms after the step began
//	dies 17 undo 0          the same, before its 17th change to files
//
// It is made while it is played, from what each side shows at that moment, and
// is printed where it fails; such a text can be played again.

// edits are what a side can do to its files; %s are paths.
var edits = map[string]string{
	"append":  `echo "$2" >>"$1"`,
	"prepend": `{ echo "$2"; cat "$1"; } >"$1.tmp" && mv "$1.tmp" "$1"`,
	"make":    `echo "$2" >"$1"`,
	"mkdir":   `mkdir "$1"`,
	"rm":      `rm -rf "$1"`,
	"renew":   `rm -rf "$1" && mkdir "$1" && echo "$2" >"$1/r"`,
	"mv":      `mv -T "$1" "$2"`,
	"link":    `ln "$1" "$2"`,
	"symlink": `rm -rf "$1" && ln -s "$2" "$1"`,
	"chmod":   `chmod "$2" "$1"`,
}

// author makes steps.
type author struct {
	*rand.Rand
	made int  // lines, names
	calm bool // nothing at random moments: what that meets is never the same twice
}

func (a *author) any(of []string) string { return of[a.IntN(len(of))] }

// line is one that was not written yet.
func (a *author) line() string {
	a.made++
	return fmt.Sprint("L", a.made)
}

// edit is a step of one side, which shows this.
func (a *author) edit(v view) string {
	files, dirs := v.paths("f"), append(v.paths("d"), ".")
	for {
		switch what := a.IntN(23); {
		case what < 5 && len(files) > 0:
			return fmt.Sprint("append ", a.any(files), " ", a.line())
		case what < 9 && len(files) > 0:
			return fmt.Sprint("prepend ", a.any(files), " ", a.line())
		case what < 11:
			return fmt.Sprint("make ", a.free(v, a.any(dirs)), " ", a.line())
		case what < 12:
			return fmt.Sprint("mkdir ", a.free(v, a.any(dirs)))
		case what < 14 && len(files) > 2:
			return fmt.Sprint("rm ", a.any(files))
		case what < 15 && len(dirs) > 2:
			return fmt.Sprint("rm ", dirs[a.IntN(len(dirs)-1)])
		case what < 17 && len(files) > 0:
			return fmt.Sprint("mv ", a.any(files), " ", a.free(v, a.any(dirs)))
		case what < 19 && len(dirs) > 1:
			from, to := dirs[a.IntN(len(dirs)-1)], a.any(dirs)
			if !related(from, to) || to == path.Dir(from) {
				return fmt.Sprint("mv ", from, " ", a.free(v, to))
			}
		case what < 20 && len(files) > 0:
			return fmt.Sprint("link ", a.any(files), " ", a.free(v, a.any(dirs)))
		case what < 21 && len(files) > 2:
			return fmt.Sprint("symlink ", a.any(files), " ", a.any(files))
		case what < 22 && len(dirs) > 2:
			return fmt.Sprint("renew ", dirs[a.IntN(len(dirs)-1)], " ", a.line())
		case len(dirs) > 1:
			return fmt.Sprint("chmod ", dirs[a.IntN(len(dirs)-1)], " ", a.any([]string{"755", "700", "711"}))
		}
	}
}

// free is a name that is not there, often one that was.
func (a *author) free(v view, dir string) string {
	for {
		p := path.Join(dir, fmt.Sprintf("%c%d", 'n'+rune(a.IntN(3)), a.IntN(4)))
		if _, taken := v[p]; !taken {
			return p
		}
	}
}

// step is the next one of a history.
func (a *author) step(s *soak) string {
	if len(s.boxes) == 0 {
		return "new b1"
	}
	names := s.names()
	b := a.any(names)
	box := s.boxes[b]
	switch what := a.IntN(100); {
	case what < 36:
		s.refresh(b)
		return "box " + b + " " + a.edit(box.view)
	case what < 48:
		return "real " + a.edit(s.real)
	case what < 62:
		s.refresh(b)
		return a.beside(a.landing(b, box))
	case what < 70 && len(s.receipts) > 0:
		return a.beside(fmt.Sprint("undo ", a.IntN(len(s.receipts))))
	case what < 74:
		return "sync " + b
	case what < 75:
		return fmt.Sprint("dies ", a.made%60, " sync ", b)
	case what < 79 && len(names) < 4:
		return fmt.Sprint("fork ", b, " ", s.newName())
	case what < 83 && len(names) < 4:
		return "new " + s.newName()
	case what < 88:
		return "snapshot " + b
	case what < 91 && len(box.snapshots) > 0:
		return "rollback " + b
	case what < 94:
		s.refresh(b)
		if p := append(box.view.paths("f"), box.view.paths("d")...); len(p) > 0 {
			return "discard " + b + " " + a.any(p)
		}
		return "gc"
	case what < 96 && len(names) > 1:
		return "rm " + b
	case what < 98:
		return "kill"
	default:
		return "gc"
	}
}

// landing is an apply of all or of a part, that yields or insists.
func (a *author) landing(name string, box *soakBox) string {
	step := "apply " + name
	if p := append(box.view.paths("f"), box.view.paths("d")...); a.IntN(3) == 0 && len(p) > 0 {
		step += " " + a.any(p)
	}
	switch a.IntN(8) {
	case 0:
		step += " --conflict theirs"
	case 1:
		step += " --conflict ours"
	}
	return step
}

// beside may have an editor at work, or the daemon killed, during a step.
func (a *author) beside(step string) string {
	switch a.IntN(6) {
	case 0:
		if !a.calm {
			return fmt.Sprint("during ", a.IntN(1<<20), " ", step)
		}
	case 1:
		if !a.calm && a.IntN(2) == 0 {
			return fmt.Sprint("killed ", a.IntN(60), " ", step)
		}
		return fmt.Sprint("dies ", a.IntN(60), " ", step)
	}
	return step
}

// fields of a step; the path "." is the workspace.
func fields(step string) []string { return strings.Fields(step) }
