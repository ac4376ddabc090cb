package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/storage/oci/registry"
)

// cacheDir is forkbox's place in the user's cache. Nobody else may look into
// it: what passes through are the user's files.
func cacheDir() (string, error) {
	const op = "make room in the cache"
	base, err := os.UserCacheDir()
	if err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, op, "%w", err).Hint("set XDG_CACHE_HOME or HOME")
	}
	dir := filepath.Join(base, "forkbox")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, op, "%w", err).Hint("set XDG_CACHE_HOME to a directory that you can write")
	}
	return dir, nil
}

// registryOptions say who we are to a registry, as docker was told.
func registryOptions(ctx context.Context, name registry.Reference, plain bool, moves *transfer) (registry.Options, error) {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "/" // there is nobody to be, which is allowed
		}
		dir = filepath.Join(home, ".docker")
	}
	credential, err := registry.Credentials(ctx, dir, name.Registry)
	return registry.Options{Credential: credential, PlainHTTP: plain, Progress: moves.watch}, err
}

// advisePlainHTTP knows the flag; the package knows only the registry's answer.
func advisePlainHTTP(err error) error {
	if err == nil || !strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		return err
	}
	return app.Advise(err, forkbox.Unavailable, "--plain-http", "it is: --plain-http")
}
