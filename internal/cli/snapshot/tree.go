package snapshot

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func TreeVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "tree",
		Short: "Draw what was forked from what",
		Long: `Draw your boxes, their snapshots and your templates: what was forked from a
snapshot is below it. A snapshot begins with an @; the one that its box stands on
has a * after its name. Where something was forked from what is gone since, it is
below (removed).`,
		Example:           "  forkbox tree\n  forkbox tree --json | jq '.boxes[] | {name, parent}'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return tree(cmd.Context(), a) },
	}
}

func tree(ctx context.Context, a *app.App) error {
	family, err := a.Client().Family(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(family)
	}
	roots := newPedigree(family).roots()
	if len(roots) == 0 {
		a.Say("no boxes yet; make one: forkbox new")
		return nil
	}
	lines := asciiLines
	if terminal.IsTerminal(a.Stdout) && localeIsUTF8() {
		lines = unicodeLines
	}
	_, err = io.WriteString(a.Stdout, drawTree(roots, lines))
	return err
}

// branch is a line of the tree, and what is below it.
type branch struct {
	text  string
	below []*branch
}

// treeLines are the four pieces that trees are drawn with.
type treeLines struct{ fork, last, pass, gap string }

var (
	unicodeLines = treeLines{"├─ ", "└─ ", "│  ", "   "}
	asciiLines   = treeLines{"|- ", "`- ", "|  ", "   "}
)

func drawTree(roots []*branch, lines treeLines) string {
	var out strings.Builder
	for _, root := range roots {
		out.WriteString(root.text + "\n")
		drawBelow(&out, root, "", lines)
	}
	return out.String()
}

func drawBelow(out *strings.Builder, b *branch, indent string, lines treeLines) {
	for i, child := range b.below {
		knot, under := lines.fork, lines.pass
		if i == len(b.below)-1 {
			knot, under = lines.last, lines.gap
		}
		out.WriteString(indent + knot + child.text + "\n")
		drawBelow(out, child, indent+under, lines)
	}
}

// localeIsUTF8 looks where C programs do, in their order.
func localeIsUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(os.Getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// pedigree knows who came from what. Every box, snapshot and template is one
// branch, found by its id.
type pedigree struct {
	family   forkbox.Family
	branches map[string]*branch
	gone     map[string]*branch // what stands for a parent that is not there, by its id
	top      []*branch
	lost     []*branch // those of gone that hang nowhere, for the end
}

func newPedigree(family forkbox.Family) *pedigree {
	p := &pedigree{family: family, branches: map[string]*branch{}, gone: map[string]*branch{}}
	for _, box := range family.Boxes {
		p.branches[box.ID] = &branch{text: boxText(box)}
	}
	for _, s := range family.Snapshots {
		p.branches[s.ID] = &branch{text: p.snapshotText(s)}
	}
	for _, t := range family.Templates {
		p.branches[t.ID] = &branch{text: templateText(t)}
	}
	return p
}

// roots hangs every branch below the one it came from, and returns those that
// came from nothing. It is for one call.
func (p *pedigree) roots() []*branch {
	for _, s := range p.family.Snapshots {
		p.hang(s.ID, s.Box, "")
	}
	for _, t := range p.family.Templates {
		p.hang(t.ID, t.Parent, "")
	}
	for _, box := range p.family.Boxes {
		p.hang(box.ID, box.Parent, box.ParentBox)
	}
	return append(p.top, p.lost...)
}

// hang puts a branch below its parent. Where that is gone, something stands for
// it, below the box that it was of if that is still there.
func (p *pedigree) hang(id, parent, parentBox string) {
	b := p.branches[id]
	switch above, known := p.branches[parent]; {
	case known && !above.isBelow(b):
		above.below = append(above.below, b)
	case parent == "" || known:
		p.top = append(p.top, b)
	default:
		stand := p.standIn(parent, parentBox, id)
		stand.below = append(stand.below, b)
	}
}

// isBelow says whether b is of, or is, what hangs below other: then other must
// not hang below b.
func (b *branch) isBelow(other *branch) bool {
	if b == other {
		return true
	}
	for _, child := range other.below {
		if b.isBelow(child) {
			return true
		}
	}
	return false
}

func (p *pedigree) standIn(parent, parentBox, child string) *branch {
	if stand, known := p.gone[parent]; known {
		return stand
	}
	stand := &branch{text: describe.Removed}
	p.gone[parent] = stand
	if box, known := p.branches[parentBox]; known && parentBox != child && !box.isBelow(p.branches[child]) {
		stand.text = "@" + describe.Removed
		box.below = append(box.below, stand)
		return stand
	}
	p.lost = append(p.lost, stand)
	return stand
}

func boxText(box forkbox.Box) string {
	return joinNotes(box.Name, string(box.State), terminal.Ago(box.Created))
}

func (p *pedigree) snapshotText(s forkbox.Snapshot) string {
	name := "@" + terminal.Printable(s.Name)
	for _, box := range p.family.Boxes {
		if box.ID == s.Box {
			name += standsOn(box, s)
		}
	}
	text := joinNotes(name, terminal.Ago(s.Created))
	if message := describe.Message(s); message != "" {
		text += "  " + message
	}
	return text
}

func templateText(t forkbox.Template) string {
	text := joinNotes("template "+terminal.Printable(t.Name), terminal.Ago(t.Created))
	if t.Message != "" {
		text += "  " + terminal.Printable(t.Message)
	}
	return text
}

// joinNotes reads "name  (stopped, 5m ago)".
func joinNotes(name string, notes ...string) string {
	return name + "  (" + strings.Join(notes, ", ") + ")"
}
