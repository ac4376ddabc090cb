package config

import (
	"time"

	"github.com/forkbox/forkbox/internal/policy"
	"github.com/forkbox/forkbox/internal/retention"
)

// Settings is what all sources together say.
type Settings struct {
	// Policy is what boxes may use and reach.
	Policy    policy.Config
	Serve     Serve
	Log       Log
	Traces    Traces
	Undo      Undo
	Retention Retention
	Store     Store
	// Project is what the project's file asks for. The daemon has none: it is
	// read by the command line, with the caller's rights.
	Project policy.Project
}

// Serve is how the daemon runs.
type Serve struct {
	// Idle is how long a daemon that was started on demand stays with nothing
	// to do.
	Idle     time.Duration
	Provider string // what isolates boxes
	Reach
	Group    string        // whose members a daemon of root's serves
	Requests int           // a second, of a token or client certificate
	Audit    time.Duration // how long the trail is kept
	// Heartbeat is how often a stream says that nothing happens.
	Heartbeat time.Duration
}

// Reach is where the daemon listens beside its socket, and what it shows there.
type Reach struct {
	Listen, Hosts              []string
	Certificate, Key, ClientCA string // files
	Clients                    map[string]Client
}

// Client is whom a client certificate acts for, and what it may.
type Client struct {
	User   string
	Scopes []string
}

// Log is what the daemon writes of itself.
type Log struct {
	Level  string // debug, info, warn or error
	Format string // text or json; "" is by where it goes
}

// Traces is where it sends traces.
type Traces struct {
	Endpoint string   // of the collector; "" for none
	Headers  []string // NAME=VALUE
	Sample   float64  // from 0 to 1
}

// Undo is how long, and how many bytes of, what applies replaced is kept.
type Undo struct {
	Age  time.Duration
	Size int64
}

// Retention is how long boxes stay. Err is why that is not known: then none is
// removed.
type Retention struct {
	retention.Policy
	Err error
}

// Store is how boxes are kept.
type Store struct {
	Layers string // the driver; "" is the best that works
	Ledger string // what keeps the record of them
}

// Builtin is what holds where nobody says anything.
func Builtin() Settings {
	const day = 24 * time.Hour
	return Settings{
		Policy:    policy.Builtin(),
		Serve:     Serve{Idle: 5 * time.Minute, Provider: "native", Group: "forkbox", Requests: 200, Audit: 90 * day, Heartbeat: 15 * time.Second},
		Log:       Log{Level: "info"},
		Traces:    Traces{Sample: 1},
		Undo:      Undo{Age: 14 * day, Size: 10 << 30},
		Retention: Retention{Policy: retention.Default()},
		Store:     Store{Ledger: "sqlite"},
		Project:   policy.NoProject(),
	}
}
