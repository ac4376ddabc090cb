package main

import (
	"context"
	"errors"
	"os"
	"strings"
)

// start tells a second side from the first path.
func (d *differ) start(ctx context.Context, args []string) error {
	ref, rest := args[0], args[1:]
	if len(rest) > 0 && (namesSnapshot(rest[0]) || d.namesBox(ctx, rest[0])) {
		if d.against != "" {
			return errors.New("--against and a second box exclude each other")
		}
		// It reads from the first to the second: the second is what is looked at.
		d.against, ref, rest = ref, rest[0], rest[1:]
	}
	return d.run(ctx, ref, rest)
}

// namesBox says whether an argument is the name of a box, and of nothing here.
func (d *differ) namesBox(ctx context.Context, arg string) bool {
	if arg == "" || strings.Trim(arg, boxLetters) != "" {
		return false
	}
	if _, err := os.Lstat(arg); err == nil {
		return false
	}
	box, err := d.client().Box(ctx, arg)
	return err == nil && (box.Name == arg || box.ID == arg)
}
