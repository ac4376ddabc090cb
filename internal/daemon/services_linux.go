package daemon

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/services"
	"github.com/forkbox/forkbox/internal/services/copying"
)

// machine has the engine know the services of this machine.
type machine struct{ home string }

func (machine) Find(ctx context.Context, uid int) ([]forkbox.Service, error) {
	return services.Find(ctx, uid)
}

func (machine) StartOf(ctx context.Context, s forkbox.Service, env func([]string) []string) (forkbox.ServiceStart, error) {
	return services.StartOf(ctx, s, env)
}

func (machine) Paths(s forkbox.Service, uid int) ([]string, error) {
	source, err := services.SourceOf(s)
	if err != nil || uid == 0 {
		return source.Paths, err
	}
	for _, path := range source.Paths {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err == nil && int(st.Uid) != uid {
			return nil, forkbox.Errorf(forkbox.Denied, "copy the service "+s.Name, "%s is not yours", path)
		}
	}
	return source.Paths, nil
}

func (machine) Copy(ctx context.Context, list []forkbox.Service, spec engine.CopySpec) (engine.Copied, error) {
	sources, err := sourcesOf(list)
	if err != nil {
		return engine.Copied{}, err
	}
	for i := range sources {
		if spec.Chosen { // its engine would copy all that it has
			sources[i].Online = nil
		}
	}
	t, err := copying.Take(ctx, sources, copying.Options{Put: spec.Put, MaxPause: spec.MaxPause, Way: spec.Way})
	return engine.Copied{Way: t.Way, Paused: t.Paused, Bytes: t.Bytes}, err
}

func (machine) Predict(ctx context.Context, list []forkbox.Service, near string) (string, time.Duration, error) {
	sources, err := sourcesOf(list)
	if err != nil {
		return "", 0, err
	}
	return copying.Predict(ctx, sources, near)
}

func sourcesOf(list []forkbox.Service) (sources []copying.Source, err error) {
	for _, s := range list {
		source, err := services.SourceOf(s)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	return sources, nil
}
