package change

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/forkbox/forkbox/internal/cli/app"
)

// start tells a second side from the first path.
func (d *Differ) start(ctx context.Context, args []string) error {
	ref, rest := args[0], args[1:]
	if len(rest) > 0 && (app.NamesSnapshot(rest[0]) || d.namesBox(ctx, rest[0])) {
		if d.Against != "" {
			return errors.New("--against and a second box exclude each other")
		}
		// It reads from the first to the second: the second is what is looked at.
		d.Against, ref, rest = ref, rest[0], rest[1:]
	}
	return d.Run(ctx, ref, rest)
}

// namesBox says whether an argument is the name of a box, and of nothing here.
func (d *Differ) namesBox(ctx context.Context, arg string) bool {
	if arg == "" || strings.Trim(arg, app.BoxLetters) != "" {
		return false
	}
	if _, err := os.Lstat(arg); err == nil {
		return false
	}
	box, err := d.Client().Box(ctx, arg)
	return err == nil && (box.Name == arg || box.ID == arg)
}
