package race

import (
	"context"
	"strings"

	"github.com/forkbox/forkbox"
)

// List has who's races, the newest first.
func (r *Races) List(ctx context.Context, who forkbox.Owner) ([]forkbox.Race, error) {
	list, err := r.ledger.Races(ctx, &who.UID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = r.current(ctx, list[i])
	}
	return list, nil
}

// Get finds one by its id, its name or the beginning of either. An empty ref is
// the newest.
func (r *Races) Get(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error) {
	race, err := r.find(ctx, who, ref)
	if err != nil {
		return race, err
	}
	return r.current(ctx, race), nil
}

// findNamed is find for what changes something: that must be meant by name.
func (r *Races) findNamed(ctx context.Context, who forkbox.Owner, op, ref string) (forkbox.Race, error) {
	if ref == "" {
		return forkbox.Race{}, forkbox.Errorf(forkbox.Invalid, op, "no race is named").
			Hint("forkbox race ls shows your races")
	}
	return r.find(ctx, who, ref)
}

// find looks among who's races only: those of others must look as if they did
// not exist.
func (r *Races) find(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error) {
	const op = "find race"
	found, err := r.ledger.FindRaces(ctx, who.UID, ref)
	switch {
	case err != nil:
		return forkbox.Race{}, err
	case len(found) == 0 && ref == "":
		return forkbox.Race{}, forkbox.Errorf(forkbox.NotFound, op, "you have no races").
			Hint("start one: forkbox race --try 'a=…' --try 'b=…' --check '…'")
	case len(found) == 0:
		return forkbox.Race{}, forkbox.Errorf(forkbox.NotFound, op, "you have no race %q", ref).
			Hint("forkbox race ls shows your races")
	case len(found) == 1, ref == "", found[0].ID == ref, found[0].Name == ref: // exact matches come first
		return found[0], nil
	}
	return forkbox.Race{}, forkbox.Errorf(forkbox.Ambiguous, op, "%q could be %s", ref, candidates(found)).
		Hint("give more of the name, or the id")
}

func candidates(races []forkbox.Race) string {
	const most = 5
	var names []string
	for _, r := range races[:min(most, len(races))] {
		names = append(names, r.Name+" ("+r.ID+")")
	}
	if len(races) > most {
		names = append(names, "others")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// current is a race as it is now: one that runs is ahead of its record, and
// what landed may have been undone since.
func (r *Races) current(ctx context.Context, rec forkbox.Race) forkbox.Race {
	if live := r.running(rec.ID); live != nil {
		return live.record()
	}
	if rec.Receipt != "" {
		if receipt, err := r.ledger.Receipt(ctx, rec.Receipt); err == nil && !receipt.Undone.IsZero() {
			rec.Landed, rec.Receipt = "", ""
		}
	}
	return rec
}

// running is a race that runs, nil if it does not.
func (r *Races) running(id string) *race {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[id]
}
