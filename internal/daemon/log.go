package daemon

import (
	"log/slog"
	"os"

	"github.com/forkbox/forkbox"
)

// logger writes text for a terminal and JSON for everything else.
func (d *Daemon) logger() (*slog.Logger, error) {
	level := slog.LevelInfo
	if name := os.Getenv("FORKBOX_LOG"); name != "" {
		if err := level.UnmarshalText([]byte(name)); err != nil {
			return nil, forkbox.Errorf(forkbox.Invalid, "log", "FORKBOX_LOG is %q", name).
				Hint("use debug, info, warn or error")
		}
	}
	options := &slog.HandlerOptions{Level: level}
	if d.Text {
		return slog.New(slog.NewTextHandler(d.Stderr, options)), nil
	}
	return slog.New(slog.NewJSONHandler(d.Stderr, options)), nil
}
