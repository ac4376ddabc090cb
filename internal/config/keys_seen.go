package config

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

// seenKeys are what the daemon tells of itself, and to whom.
func seenKeys() []*Key {
	return []*Key{
		own("log.format", "how the daemon logs; text on a terminal and json elsewhere if nothing is said",
			word(func(s *Settings) *string { return &s.Log.Format }, "text", "json"), Key{Env: "FORKBOX_LOG_FORMAT", Flag: "serve --log-format"}),
		own("traces.endpoint", "the collector that traces are sent to, by OTLP over HTTP; without one OTEL_EXPORTER_OTLP_ENDPOINT counts, and without that none are made",
			text("URL", "http://127.0.0.1:4318", func(s *Settings) *string { return &s.Traces.Endpoint }), Key{Env: "FORKBOX_OTLP_ENDPOINT"}),
		own("traces.headers", "what it is sent beside them: NAME=VALUE; values are not shown", headers(), Key{Secret: true}),
		own("traces.sample", "the share of requests that are traced, where the caller does not say so itself", share(func(s *Settings) *float64 { return &s.Traces.Sample }, "10%"), Key{}),
		own("serve.heartbeat", "how often a stream in which nothing happens says so; from 1s to 10m", within(time.Second, 10*time.Minute, func(s *Settings) *time.Duration { return &s.Serve.Heartbeat }, "15s"), Key{}),
	}
}

// headers are of HTTP. They can have credentials, so that only their names are
// shown.
func headers() kind {
	k := list(listKind("headers", `["X-Key=abc"]`, map[string]any{"type": "string", "pattern": "^[^=]+="}), func(s *Settings) *[]string { return &s.Traces.Headers })
	set := k.set
	k.set = func(s *Settings, at Place, n *yaml.Node) error {
		was := s.Traces.Headers
		if err := set(s, at, n); err != nil {
			return err
		}
		for _, h := range s.Traces.Headers {
			if name, _, ok := strings.Cut(h, "="); !ok || name == "" || strings.ContainsAny(name, " \t:") {
				s.Traces.Headers = was
				return forkbox.Errorf(forkbox.Invalid, "read it", "a header is NAME=VALUE, and one has no name or no =")
			}
		}
		return nil
	}
	k.get = func(s *Settings, _ string) string {
		var names []string
		for _, h := range s.Traces.Headers {
			name, _, _ := strings.Cut(h, "=")
			names = append(names, name+"=…")
		}
		return listText(names)
	}
	return k
}

// share is a part of a whole, from 0% to 100%.
func share(of func(*Settings) *float64, example string) kind {
	return parsed(Kind{"share", example, map[string]any{"type": "string", "pattern": pattern(sharePattern)}}, of, func(text string) (float64, error) {
		number, isShare := strings.CutSuffix(text, "%")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !isShare || !(v >= 0 && v <= 100) {
			return 0, forkbox.Errorf(forkbox.Invalid, "read it", "%q is no share of the whole", text).Hint("it is from 0%% to 100%%")
		}
		return v / 100, nil
	}, func(v float64) string { return strconv.FormatFloat(v*100, 'g', -1, 64) + "%" })
}

// within is a time within bounds.
func within(least, most time.Duration, of func(*Settings) *time.Duration, example string) kind {
	k := duration(of, example)
	set := k.set
	k.set = func(s *Settings, at Place, n *yaml.Node) error {
		was := *of(s)
		if err := set(s, at, n); err != nil {
			return err
		}
		if v := *of(s); v < least || v > most {
			*of(s) = was
			return forkbox.Errorf(forkbox.Invalid, "read it", "%s is not between %s and %s", v, least, most)
		}
		return nil
	}
	return k
}
