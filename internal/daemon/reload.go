package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/server"
)

// runningEngine is the engine of a daemon.
type runningEngine interface {
	server.Engine
	io.Closer
	// Reconfigure has what can change while boxes run hold from now on.
	Reconfigure(config.Settings)
	// Unmeasured are the pressures that admission counts on and this kernel
	// does not measure.
	Unmeasured() []string
}

// configuration is what the daemon goes by. It changes on SIGHUP.
type configuration struct {
	options config.Options
	level   slog.LevelVar
	engine  runningEngine

	mu      sync.Mutex
	started *config.Loaded // what holds for what cannot change
	now     *config.Loaded // what holds for the rest
	loaded  time.Time
	refused *api.ConfigRefusal // nil if the last reload was taken over
}

func loadConfig(o config.Options) (*configuration, error) {
	loaded, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	c := &configuration{options: o, started: loaded, now: loaded, loaded: time.Now()}
	c.setLevel()
	return c, nil
}

// setLevel takes over a level that was found to be one.
func (c *configuration) setLevel() {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.now.Log.Level))
	c.level.Set(level)
}

// follow reloads the configuration at each SIGHUP, but for one that says that the
// terminal is gone: hungUp sees to that.
func (c *configuration) follow(ctx context.Context, hup <-chan os.Signal, hungUp func() bool, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			if !hungUp() {
				c.reload(log)
			}
		}
	}
}

// hangUp makes what ends a daemon whose terminal went away: the kernel says that
// with SIGHUP as well, and a daemon in the foreground is not to outlive the window
// that it was started in.
func hangUp(stop func()) func() bool {
	has := func() bool {
		f, err := os.Open("/dev/tty")
		if err == nil {
			f.Close()
		}
		return err == nil
	}
	if !has() {
		return func() bool { return false }
	}
	return func() bool {
		if has() {
			return false
		}
		stop()
		return true
	}
}

// reload reads the configuration again. With a mistake in it nothing changes: a
// slip of the pen must not open what was closed.
func (c *configuration) reload(log *slog.Logger) {
	next, err := config.Load(c.options)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.refused = refusal(err)
		log.Error("the configuration is as it was: the new one cannot be read", "error", err)
		return
	}
	live, later := split(next.Changed(c.now)), split(next.Changed(c.started))
	c.now, c.loaded, c.refused = next, time.Now(), nil
	c.setLevel()
	c.engine.Reconfigure(next.Settings)
	log.Info("reloaded the configuration", "changed", live.live)
	if len(later.atStart) > 0 {
		log.Warn("some of it takes effect at the next start of the daemon", "keys", later.atStart)
	}
}

func refusal(err error) *api.ConfigRefusal {
	r := &api.ConfigRefusal{Time: time.Now(), Why: err.Error()}
	var e *forkbox.Error
	if errors.As(err, &e) {
		r.Hints = e.Hints
	}
	return r
}

// whenHeld are keys by when a new value of theirs holds.
type whenHeld struct{ live, atStart []string }

func split(keys []*config.Key) (w whenHeld) {
	for _, k := range keys {
		if k.Live {
			w.live = append(w.live, k.Name)
		} else {
			w.atStart = append(w.atStart, k.Name)
		}
	}
	return w
}

// show is the configuration as one user may see it: what the host says of other
// users is theirs and its owner's to know.
func (c *configuration) show(who forkbox.Owner) api.Configuration {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := api.Configuration{Files: c.now.Files(c.options), Settings: c.now.ShowFrom(c.started), Loaded: c.loaded, Refused: c.refused, Notes: c.notes()}
	if who.UID == 0 || who.UID == os.Geteuid() {
		return list
	}
	var visible []api.Setting
	for _, s := range list.Settings {
		if !strings.HasPrefix(s.Key, "users.") || config.IsOf(s.Key, who) {
			visible = append(visible, s)
		}
	}
	list.Settings = visible
	return list
}

// notes are what the configuration counts on and this host cannot give.
func (c *configuration) notes() (notes []string) {
	for _, what := range c.engine.Unmeasured() {
		notes = append(notes, config.UnmeasuredNote(what))
	}
	return notes
}

// checks are what doctor says of the configuration.
func (c *configuration) checks() []forkbox.Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []forkbox.Check{c.fileCheck()}
	if later := split(c.now.Changed(c.started)).atStart; len(later) > 0 {
		all = append(all, forkbox.Check{Name: "configuration", Status: forkbox.Warn, Detail: strings.Join(later, ", ") + ": changed, and takes effect at the next start of the daemon",
			Remedy: "forkbox config show says what holds now"})
	}
	for _, note := range c.notes() {
		all = append(all, forkbox.Check{Name: "admission", Status: forkbox.Warn, Detail: note,
			Remedy: "boot a kernel with PSI (CONFIG_PSI=y; psi=1 on its command line), or turn it off in config.yaml: admission: {pressure: {…: off}}"})
	}
	return all
}

func (c *configuration) fileCheck() forkbox.Check {
	if c.refused != nil {
		return forkbox.Check{Name: "configuration", Status: forkbox.Warn, Detail: "the last reload changed nothing: " + c.refused.Why,
			Remedy: strings.Join(append(c.refused.Hints, "correct it, see forkbox config validate, and send SIGHUP to the daemon again"), "\n")}
	}
	detail := "built in: there is no file"
	var paths []string
	for _, s := range c.now.Sources {
		paths = append(paths, s.Path)
	}
	if len(paths) > 0 {
		detail = strings.Join(paths, ", then ")
	}
	return forkbox.Check{Name: "configuration", Status: forkbox.OK, Detail: detail}
}
