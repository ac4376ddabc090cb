package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/trace"
)

// lastTraces is how long the collector gets for what waits when the daemon ends.
const lastTraces = time.Second

// openTracer makes what sends traces; nil where no collector is named.
func openTracer(c config.Traces, version string, log *slog.Logger) (*trace.Tracer, error) {
	endpoint := cmp.Or(c.Endpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint == "" {
		return nil, nil
	}
	headers := map[string]string{}
	for _, h := range c.Headers {
		name, value, _ := strings.Cut(h, "=")
		headers[name] = value
	}
	t, err := trace.Open(trace.Config{Endpoint: endpoint, Headers: headers, Sample: c.Sample, Version: version, Log: log})
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, "send traces", "%w", err).Hint("say where to: traces.endpoint in config.yaml, FORKBOX_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	return t, nil
}

// closeTracer sends the rest.
func closeTracer(t *trace.Tracer) {
	ctx, cancel := context.WithTimeout(context.Background(), lastTraces)
	defer cancel()
	t.Close(ctx)
}
