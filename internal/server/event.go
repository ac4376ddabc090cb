package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/engine"
)

// readEvents lists what happened, one event on a line; to a caller who accepts
// server-sent events it goes on with what happens.
func (s daemonRoutes) readEvents(w http.ResponseWriter, r *http.Request, _ api.None) error {
	spec, err := eventSpec(r)
	if err != nil {
		return err
	}
	if accepts(r, api.EventStream) {
		return s.streamEvents(w, r, spec)
	}
	out := &lines{ResponseWriter: w}
	err = s.Engine.Events(r.Context(), who(r), spec, func(event forkbox.Event) error {
		return out.add(api.EventLine{Event: &event})
	})
	return out.end(err, func(e *forkbox.Error) any { return api.EventLine{Error: e} })
}

func (s *Server) streamEvents(w http.ResponseWriter, r *http.Request, spec engine.EventSpec) error {
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &eventStream{w: w, control: http.NewResponseController(w), slowest: s.Slowest}
	defer out.control.SetWriteDeadline(time.Time{})
	spec.Follow, spec.OnBegin = true, out.begin
	spec.Quiet, spec.OnQuiet = s.Heartbeat, out.beat
	err := s.Engine.Events(ctx, who(r), spec, out.send)
	if !out.begun {
		return err
	}
	if err = s.cutOff(r, "follow the events", err); err == nil || out.failed != nil { // the caller went away, or was too slow
		return nil
	}
	return out.fail(err)
}

// eventStream is an answer of server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	slowest time.Duration
	begun   bool
	failed  error // to write
}

// A caller who does not read for so long, unless [Config] says otherwise, is cut
// off. It can go on where it was: nothing is kept for it here.
const slowest = 30 * time.Second

// retryAfter is how long a caller that was cut off waits, in milliseconds.
const retryAfter = 1000

func (o *eventStream) begin() error {
	uncheck(o.w)
	h := o.w.Header()
	h.Set("Content-Type", api.EventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies are to pass it on as it comes
	o.w.WriteHeader(http.StatusOK)
	o.begun = true
	return o.write(fmt.Sprintf("retry: %d\n\n", retryAfter))
}

func (o *eventStream) beat() error { return o.write(":\n\n") }

func (o *eventStream) send(e forkbox.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return o.write("id: " + strconv.FormatInt(e.ID, 10) + "\nevent: " + string(e.Kind) + "\ndata: " + string(data) + "\n\n")
}

func (o *eventStream) fail(cause error) error {
	data, err := json.Marshal(toError(cause))
	if err == nil {
		err = o.write("event: " + api.StreamFailed + "\ndata: " + string(data) + "\n\n")
	}
	return err
}

func (o *eventStream) write(text string) error {
	_ = o.control.SetWriteDeadline(time.Now().Add(o.slowest)) // a writer without deadlines is a test's
	_, o.failed = o.w.Write([]byte(text))
	if o.failed == nil {
		o.failed = o.control.Flush()
	}
	return o.failed
}

// findBox is for streams of a box: one that is not there is an answer with a
// status of its own.
func (s *Server) findBox(r *http.Request, ref string) error {
	if ref == "" {
		return nil
	}
	_, err := s.Engine.Box(r.Context(), who(r), ref)
	return err
}

// accepts says whether the caller asked for a media type by its name.
func accepts(r *http.Request, media string) bool {
	for _, part := range strings.Split(r.Header.Get("Accept"), ",") {
		if name, _, _ := strings.Cut(part, ";"); strings.EqualFold(strings.TrimSpace(name), media) {
			return true
		}
	}
	return false
}

func eventSpec(r *http.Request) (spec engine.EventSpec, err error) {
	q := r.URL.Query()
	spec.Box = q.Get("box")
	if spec.Kinds, err = forkbox.ParseEventFilter(q.Get("kind")); err != nil {
		return spec, err
	}
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = q.Get("after")
	}
	switch after {
	case "":
	case api.AfterLatest:
		spec.After = engine.Latest
	default:
		spec.After, err = strconv.ParseInt(after, 10, 64)
		if err != nil || spec.After < 0 {
			return spec, forkbox.Errorf(forkbox.Invalid, "understand the request", "after=%q is not the id of an event", after).
				Hint("it is a number, or %s", api.AfterLatest)
		}
	}
	return spec, nil
}
