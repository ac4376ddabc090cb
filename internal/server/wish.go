package server

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/strictjson"
)

// longestTicket bounds the word by which a client finds its place again.
const longestTicket = 128

// checkWish refuses what no engine could make sense of. Whether a limit may be
// had is the engine's to say.
func checkWish(wish forkbox.Wish) error {
	const op = "understand the limits"
	for _, limits := range []forkbox.Limits{wish.Limits, wish.Project} {
		if err := limits.Check(); err != nil {
			return err
		}
	}
	known := []forkbox.Priority{"", forkbox.LowPriority, forkbox.NormalPriority, forkbox.HighPriority}
	switch {
	case !slices.Contains(known, wish.Priority):
		return forkbox.Errorf(forkbox.Invalid, op, "there is no priority %q", string(wish.Priority)).Hint("low, normal or high")
	case wish.Wait != nil && *wish.Wait < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "the wait of %s is negative", time.Duration(*wish.Wait))
	case len(wish.Ticket) > longestTicket:
		return forkbox.Errorf(forkbox.Invalid, op, "the ticket is longer than %d bytes", longestTicket)
	case len(wish.Project) > 0 && strings.TrimSpace(wish.ProjectFile) == "":
		return forkbox.Errorf(forkbox.Invalid, op, "it does not say which file the project's limits are from: project_file is missing")
	}
	return nil
}

// checkChange is checkWish for limits that are set on a box that is there.
func checkChange(wish forkbox.Wish) error {
	const op = "change limits"
	switch {
	case wish.Wait != nil || wish.Ticket != "":
		return forkbox.Errorf(forkbox.Invalid, op, "nothing waits for it: it has neither a wait nor a ticket")
	case len(wish.Project) > 0 || wish.ProjectFile != "":
		return forkbox.Errorf(forkbox.Invalid, op, "those of a project are for new boxes")
	case len(wish.Limits) == 0 && wish.Priority == "" && !wish.BestEffort:
		return forkbox.Errorf(forkbox.Invalid, op, "the request names none")
	}
	return checkWish(wish)
}

// netWishOf is that of a request whose body is something else. What is in it is
// the engine's to understand.
func netWishOf(q url.Values) (wish forkbox.NetWish, err error) {
	if q.Has("net_wish") {
		err = badRequest(strictjson.DecodeExactly([]byte(q.Get("net_wish")), &wish))
	}
	return wish, err
}

// wishOf is that of a request whose body is something else.
func wishOf(q url.Values) (wish forkbox.Wish, err error) {
	if !q.Has("wish") {
		return wish, nil
	}
	if err := badRequest(strictjson.DecodeExactly([]byte(q.Get("wish")), &wish)); err != nil {
		return wish, err
	}
	return wish, checkWish(wish)
}
