package ledger

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/forkbox/forkbox"
)

// environments remembers what it has read of late: the boxes that somebody
// works with are mostly of one environment, and it is read with each of them.
type environments struct {
	mu    sync.Mutex
	known map[string]forkbox.Strings
}

// Of larger ones, and of more, it would take too much to remember them.
const (
	knownEnvironments = 16
	largeEnvironment  = 64 << 10
)

// read is the environment that is recorded as text. Whoever gets it shares it,
// and changes none of it.
func (e *environments) read(text []byte) (env forkbox.Strings, err error) {
	e.mu.Lock()
	env, known := e.known[string(text)]
	e.mu.Unlock()
	if known {
		return env, nil
	}
	if err := json.Unmarshal(text, &env); err != nil || len(text) > largeEnvironment {
		return env, err
	}
	env = slices.Clip(env) // whoever appends gets a copy
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= knownEnvironments {
		e.known = map[string]forkbox.Strings{}
	}
	e.known[string(text)] = env
	return env, nil
}
