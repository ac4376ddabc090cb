package daemon

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/services"
	"github.com/forkbox/forkbox/internal/services/copying"
)

// machine has the engine know the services of this machine.
type machine struct{ home string }

func (machine) Find(ctx context.Context, who forkbox.Owner) ([]forkbox.Service, []string, error) {
	return services.Find(ctx, who)
}

func (machine) StartOf(ctx context.Context, s forkbox.Service, env func([]string) []string) (forkbox.ServiceStart, error) {
	return services.StartOf(ctx, s, env)
}

func (machine) Paths(ctx context.Context, s forkbox.Service, uid int) ([]string, error) {
	if s.Container != nil {
		return containerPaths(ctx, s, uid)
	}
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

// containerPaths are root's alone to have: a copy of a container has users of its
// own, and takes a root in the box to be put together.
func containerPaths(ctx context.Context, s forkbox.Service, uid int) ([]string, error) {
	if uid != 0 || os.Geteuid() != 0 {
		return nil, forkbox.Errorf(forkbox.Denied, "copy the service "+s.Name, "it is in a container, and a copy of that takes a box of root's").
			Hint("sudo forkbox new --with %s", s.Name)
	}
	c, err := services.OfContainer(ctx, s)
	return c.Paths(), err
}

func (machine) Copy(ctx context.Context, list []forkbox.Service, spec engine.CopySpec) (engine.Copied, error) {
	var own []forkbox.Service
	var contained services.ContainerCopies
	for _, s := range list {
		if s.Container == nil {
			own = append(own, s)
		} else if err := contained.Begin(ctx, s, spec.Put); err != nil {
			return nil, err
		}
	}
	sources, err := sourcesOf(ctx, own)
	if err != nil {
		return nil, err
	}
	for i := range sources {
		services.FindOthers(&sources[i])
		if len(spec.Settings[own[i].Name].Data) > 0 { // its engine would copy all that it has
			sources[i].Online = nil
		}
	}
	sources = append(sources, contained.Sources()...)
	for i := range sources {
		sources[i].Way = spec.Settings[sources[i].Name].Copy
	}
	t, err := copying.Take(ctx, sources, copying.Options{Put: contained.Put(spec.Put), MaxPause: spec.MaxPause})
	if err != nil {
		return nil, err
	}
	copied := engine.Copied{}
	for path, part := range t.Of {
		copied[path] = engine.CopiedPart(part)
	}
	parts, err := contained.End(ctx, t)
	for path, part := range parts {
		copied[path] = engine.CopiedPart(part)
	}
	return copied, err
}

func (machine) Predict(ctx context.Context, list []forkbox.Service, near string) (string, time.Duration, error) {
	sources, err := sourcesOf(ctx, list)
	if err != nil || len(sources) == 0 {
		return copying.Plain, 0, err // the root filesystem of a container alone
	}
	return copying.Predict(ctx, sources, near)
}

func sourcesOf(ctx context.Context, list []forkbox.Service) (sources []copying.Source, err error) {
	for _, s := range list {
		if s.Container != nil {
			c, err := services.OfContainer(ctx, s)
			if err != nil {
				return nil, err
			}
			sources = append(sources, c.Sources()...)
			continue
		}
		source, err := services.SourceOf(s)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	return sources, nil
}
