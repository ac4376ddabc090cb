//go:build !linux

package daemon

import (
	"context"
	"log/slog"
	"runtime"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/config"
)

func newEngine(context.Context, string, config.Settings, *slog.Logger) (runningEngine, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "start the engine", "there is no provider for %s yet", runtime.GOOS).
		Hint("forkbox runs on Linux 5.12 and later; on other systems use it in a virtual machine")
}
