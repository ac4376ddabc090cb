package flags

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// origin is what a box is made from, as --from says it.
type origin struct {
	kind string // "reality", "snapshot", "oci", "tar", "dir" or "empty"
	arg  string // the rest
}

// parseOrigin reads KIND:ARG before BOX@SNAPSHOT: a file may have an @ in its
// name, a box has no colon.
func parseOrigin(from string) (origin, error) {
	const op = "understand --from"
	switch from {
	case "", forkbox.Reality:
		return origin{kind: forkbox.Reality}, nil
	case "empty":
		return origin{kind: "empty"}, nil
	}
	kind, arg, colon := strings.Cut(from, ":")
	box, _, at := forkbox.SplitRef(from)
	switch {
	case colon && (kind == "oci" || kind == "tar" || kind == "dir"):
		if arg == "" {
			return origin{}, forkbox.Errorf(forkbox.Invalid, op, "there is no file after %s:", kind)
		}
		return origin{kind, arg}, nil
	case at && box != "" && !colon:
		return origin{"snapshot", from}, nil
	case colon || at || strings.Contains(from, "/"):
		return origin{}, forkbox.Errorf(forkbox.Invalid, op, "%q is nothing that a box can be made from", from).
			Hint("reality, BOX@SNAPSHOT, oci:LAYOUT, tar:FILE, dir:DIRECTORY or empty")
	}
	return origin{}, forkbox.Errorf(forkbox.Invalid, op, "%q names no snapshot", from).
		Hint("of a snapshot of a box: --from %s@SNAPSHOT   of a box as it is now: forkbox fork %s", from, from).
		Hint("or of something else: reality, oci:LAYOUT, tar:FILE, dir:DIRECTORY or empty")
}

// resolve is what the daemon takes. It knows neither the caller's directory nor
// files that only the caller may read: those are sent to it.
func (o origin) resolve(ctx context.Context, a *app.App, c *client.Client) (string, error) {
	switch o.kind {
	case forkbox.Reality, "empty":
		return o.kind, nil
	case "snapshot":
		return o.arg, nil
	case "dir":
		if at := a.Here(); at.Away {
			dir, err := at.Path(o.arg)
			return "dir:" + dir, err
		}
		dir, err := filepath.Abs(o.arg)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir) // with the caller's rights; the daemon follows none
		}
		if err != nil {
			return "", forkbox.Errorf(forkbox.Invalid, "find directory "+o.arg, "%w", err)
		}
		return "dir:" + dir, nil
	}
	base, err := o.send(ctx, a, c)
	if err != nil {
		return "", err
	}
	return "base:" + base.Ticket, nil
}

// send has the daemon unpack a file or a layout of the caller's.
func (o origin) send(ctx context.Context, a *app.App, c *client.Client) (base forkbox.Base, err error) {
	in, err := OpenArchive(o.arg, o.kind == "oci")
	if err != nil {
		return base, err
	}
	defer in.Close()
	moved := &terminal.Flow{What: "unpacking " + terminal.Printable(in.Name), Total: in.Size}
	err = a.Tidily(ctx, moved.Text, func(ctx context.Context) error {
		base, err = c.AddBase(ctx, o.kind, in.Name, moved.Reader(in))
		return err
	})
	return base, err
}

// checkOrigin finds flags that exclude each other before anything is sent.
func (f *Box) checkOrigin() (origin, error) {
	if f.Template != "" && f.From != "" {
		return origin{}, errors.New("--from and --template exclude each other")
	}
	return parseOrigin(f.From)
}
