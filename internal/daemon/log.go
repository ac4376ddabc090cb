package daemon

import (
	"context"
	"log/slog"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/trace"
)

// logger writes what the configuration says, and else text for a terminal and JSON
// for everything else.
func (d *Daemon) logger(level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "text" || format == "" && d.Text {
		return slog.New(requestLog{slog.NewTextHandler(d.Stderr, options)})
	}
	return slog.New(requestLog{slog.NewJSONHandler(d.Stderr, options)})
}

// requestLog has each line that is written for a request say for which, and in
// which trace it is.
type requestLog struct{ slog.Handler }

func (l requestLog) Handle(ctx context.Context, r slog.Record) error {
	if id := forkbox.RequestOf(ctx); id != "" {
		r.AddAttrs(slog.String("request", id))
	}
	if span := trace.Of(ctx); span != nil {
		r.AddAttrs(slog.String("trace", span.TraceID()))
	}
	return l.Handler.Handle(ctx, r)
}

func (l requestLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestLog{l.Handler.WithAttrs(attrs)}
}

func (l requestLog) WithGroup(name string) slog.Handler { return requestLog{l.Handler.WithGroup(name)} }
