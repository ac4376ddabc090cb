package daemon

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/secrets"
	"github.com/forkbox/forkbox/internal/services"
)

// MayCopy keeps a project's file from having copied into boxes what they hide: what
// looks like a credential, forkbox's own files, and the data of other services, which
// those go on writing to.
func (m machine) MayCopy(ctx context.Context, who forkbox.Owner, s forkbox.Service, places []string) error {
	taken := append(m.hidden(who, places), closed{m.home, "has forkbox's own files"})
	if real, err := filepath.EvalSymlinks(m.home); err == nil {
		taken = append(taken, closed{real, "has forkbox's own files"})
	}
	others, err := othersData(ctx, who, s)
	if err != nil {
		return err
	}
	taken = append(taken, others...)
	for _, d := range s.Data {
		if err := mayCopy("copy the service "+s.Name, d.Path, taken); err != nil {
			return err
		}
	}
	return nil
}

// closed is a place that is no data of a service.
type closed struct{ path, why string }

// hidden are the places that boxes do not see.
func (machine) hidden(who forkbox.Owner, places []string) (all []closed) {
	for _, e := range slices.Concat(secrets.Paths(who.Home), secrets.Runtime(who.UID), secrets.Lying(), secrets.Named(places, nil)) {
		all = append(all, closed{e.Path, "is hidden from boxes: " + e.Why}, closed{e.Target, "is hidden from boxes: " + e.Why})
	}
	return all
}

// othersData is what belongs to services that run, without that of one.
func othersData(ctx context.Context, who forkbox.Owner, s forkbox.Service) (all []closed, err error) {
	found, _, err := services.Find(ctx, who)
	if err != nil {
		return nil, err
	}
	var own []string
	for _, f := range found {
		for _, d := range f.Data {
			if f.PID == s.PID {
				own = append(own, d.Path)
			} else {
				all = append(all, closed{d.Path, "is data of " + f.Name})
			}
		}
	}
	for _, path := range services.Live() {
		if !slices.Contains(own, path) {
			all = append(all, closed{path, "is data of a database that runs"})
		}
	}
	return all, nil
}

// mayCopy refuses a path that leads to a closed place, or that has one below it.
func mayCopy(op, path string, taken []closed) error {
	// Where links lead that the caller cannot read is nothing to tell.
	if real, err := filepath.EvalSymlinks(path); err != nil || real != path {
		return forkbox.Errorf(forkbox.NotFound, op, "there is no file or directory %s, or a link is on the way", path).
			Hint("name it as it is without links: realpath %s", path)
	}
	for _, c := range taken {
		if c.path == "" {
			continue
		}
		_, err := os.Lstat(c.path)
		if forkbox.Within(path, c.path) || err == nil && forkbox.Within(c.path, path) {
			return forkbox.Errorf(forkbox.Denied, op, "%s cannot be data of it: %s %s", path, c.path, c.why).
				Hint("say with `data` what the service itself keeps")
		}
	}
	return nil
}
