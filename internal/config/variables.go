package config

import "slices"

// Variable is one of the environment that forkbox reads, or gives to commands.
type Variable struct {
	Name string
	Doc  string
	Key  string // the key that it stands above; "" if there is none
	// Given says that forkbox sets it for commands, and does not read it.
	Given bool
}

// Variables are all there are: those of keys, and those that have none. Some say
// where the configuration itself is and are needed before it is read; some are
// only about the terminal of who types.
func Variables() []Variable {
	var all []Variable
	for _, k := range Keys() {
		seen := func(v Variable) bool { return v.Name == k.Env }
		switch {
		case k.Env == "" || slices.ContainsFunc(all, seen):
		case k.Env == retentionEnv:
			all = append(all, Variable{Name: k.Env, Key: "retention.*", Doc: "how long boxes stay, all keys in one text: applied=2h,max-size=50G"})
		default:
			all = append(all, Variable{Name: k.Env, Key: k.Name, Doc: k.Doc})
		}
	}
	return append(all, bareVariables...)
}

var bareVariables = []Variable{
	{Name: "FORKBOX_CONFIG", Doc: "a file, by its whole path, that is read instead of the host's and the user's; it has to exist"},
	{Name: "FORKBOX_HOME", Doc: "the directory in which the daemon keeps everything; /var/lib/forkbox for root, forkbox in XDG_STATE_HOME or ~/.local/state for others"},
	{Name: "FORKBOX_SOCKET", Doc: "where the daemon listens, and clients look for it; forkbox.sock in the home"},
	{Name: "FORKBOX_HOST", Doc: "the daemon that verbs use, before the context in use: a URL, a context, or local"},
	{Name: "FORKBOX_TOKEN", Doc: "the token that a daemon beyond its socket is shown, before that of the context"},
	{Name: "FORKBOX_TRANSPORT", Doc: "websocket: commands are read and written over a WebSocket also on this machine, as is needed where the socket is forwarded from another"},
	{Name: "FORKBOX_PAGER", Doc: "what long output is shown with on a terminal, before GIT_PAGER and PAGER; cat for none"},
	{Name: "FORKBOX_EXEC", Doc: "the number of the exec that a command in a box belongs to", Given: true},
	{Name: "FORKBOX_RACE", Doc: "the race that a command runs for", Given: true},
	{Name: "FORKBOX_APPROACH", Doc: "the approach that it runs for", Given: true},
	{Name: "FORKBOX_SEED", Doc: "a number that differs from approach to approach and is the same when the race is repeated", Given: true},
	{Name: "FORKBOX_PROMPT", Doc: "what an agent of a race is asked to do", Given: true},
}
