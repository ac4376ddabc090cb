package boxes

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// stopped is the event of a box that came to rest, and how.
func (m *Manager) stopped(box forkbox.Box, how forkbox.Exit) forkbox.Event {
	return stoppedFor(m.core.About(box, forkbox.EventBoxStopped, core.OrElse(how.Why, "it came to rest")), how.Cause, how.By)
}

func stoppedFor(e forkbox.Event, cause forkbox.Cause, by string) forkbox.Event {
	return core.With(e, forkbox.EventData{Cause: string(cause), By: by})
}

// ended is the event of an exec that has its exit.
func (m *Manager) ended(box forkbox.Box, exec forkbox.Exec) forkbox.Event {
	return m.aboutExit(box, exec, forkbox.EventExecEnded)
}

// serviceEnded is the event of a service that ended by itself.
func (m *Manager) serviceEnded(box forkbox.Box, exec forkbox.Exec, name string) forkbox.Event {
	e := m.aboutExit(box, exec, forkbox.EventServiceEnded)
	e.Data.To = name
	return e
}

func (m *Manager) aboutExit(box forkbox.Box, exec forkbox.Exec, kind forkbox.EventKind) forkbox.Event {
	exit := exec.Exit
	text := core.OrElse(exit.Why, exitText(*exit))
	return core.With(m.core.AboutExec(box, exec.ID, kind, text), forkbox.EventData{
		Code: &exit.Code, Signal: exit.Signal, Cause: string(exit.Cause), By: exit.By,
	})
}

func exitText(exit forkbox.Exit) string {
	if exit.Signal != "" {
		return "ended by " + exit.Signal
	}
	return fmt.Sprintf("exited with %d", exit.Code)
}

// Started is the event of an exec that is about to be started. Its id is not
// known yet.
func (m *Manager) Started(box forkbox.Box, argv []string, who forkbox.Owner) forkbox.Event {
	e := m.core.About(box, forkbox.EventExecStarted, forkbox.EventText(strings.Join(argv, " ")))
	return core.With(e, forkbox.EventData{By: core.ByUser(who)})
}
