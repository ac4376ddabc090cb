package daemon

import (
	"context"
	"os/exec"
	"time"

	"github.com/forkbox/forkbox"
	managed "github.com/forkbox/forkbox/internal/engine/services"
	"github.com/forkbox/forkbox/internal/services"
)

// machine has the engine know the services of this machine.
type machine struct{}

func (machine) Find(ctx context.Context, uid int) ([]forkbox.Service, error) {
	return services.Find(ctx, uid)
}

func (machine) StartOf(ctx context.Context, s forkbox.Service, env func([]string) []string) (forkbox.ServiceStart, error) {
	return services.StartOf(ctx, s, env)
}

func (machine) Copy(ctx context.Context, list []forkbox.Service, spec managed.CopySpec) (c managed.Copied, err error) {
	for _, s := range list {
		for _, d := range s.Data {
			into, err := spec.Put(d.Path)
			if err != nil {
				return c, err
			}
			if err := exec.Command("cp", "-a", d.Path, into).Run(); err != nil {
				return c, err
			}
			_ = exec.Command("rm", "-f", into+"/postmaster.pid").Run()
		}
	}
	return managed.Copied{Way: "trial"}, nil
}

func (machine) Predict(context.Context, []forkbox.Service, string) (string, time.Duration, error) {
	return "trial", 0, nil
}
