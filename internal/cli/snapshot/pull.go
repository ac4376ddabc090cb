package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/daemon/launch"
	"github.com/forkbox/forkbox/internal/storage/oci"
	"github.com/forkbox/forkbox/internal/storage/oci/registry"
	"github.com/spf13/cobra"
)

func PullVerb(a *app.App) *cobra.Command {
	var net flags.Net
	var plain bool
	var limits flags.Limits
	cmd := &cobra.Command{
		Use:   "pull [--net none|policy|host|team:NAME] [network] [--plain-http] [limits] REGISTRY/REPO:TAG [NAME]",
		Short: "Make a box of an image in a registry",
		Long: `Fetch what forkbox push put into a registry, or any other OCI image, make a box of
it as forkbox import does, and print its name. A pull that was interrupted goes on
where it stopped when it is repeated.

Who you are to the registry is read from docker's configuration (DOCKER_CONFIG, or
~/.docker).`,
		Example:           "  forkbox pull registry.example/team/try:green\n  forkbox pull localhost:5000/try:latest again",
		Args:              app.Between(1, 2, "an image: forkbox pull REGISTRY/REPO:TAG [NAME]"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := importRequest(append(args, "")[1], net, limits)
			if err != nil {
				return err
			}
			net.Warn(a)
			return pull(cmd.Context(), a, args[0], plain, req)
		},
	}
	net.Add(a, cmd, "if nothing is said: policy")
	addPlainHTTP(cmd, &plain)
	limits.AddForBox(cmd)
	limits.AddWait(cmd)
	return cmd
}

// pull keeps what has come in the user's cache until there is a box of it.
func pull(ctx context.Context, a *app.App, image string, plain bool, req client.ImportRequest) error {
	name, err := registry.Parse(image)
	if err != nil {
		return err
	}
	dir, release, err := pullDir(name)
	if err != nil {
		return err
	}
	defer release()
	if err := fetch(ctx, a, name, dir, plain); err != nil {
		return advisePlainHTTP(err)
	}
	in, err := readLayout(ctx, dir, name.String())
	if err != nil {
		return err
	}
	defer in.Close()
	c := a.Client()
	defer c.Close()
	if err := importFrom(ctx, a, c, in, req); err != nil {
		return err
	}
	return forkbox.Wrap("clear the cache", os.RemoveAll(dir))
}

func fetch(ctx context.Context, a *app.App, name registry.Reference, dir string, plain bool) error {
	moves := newTransfer("pulling")
	err := a.Tidily(ctx, moves.text, func(ctx context.Context) error {
		options, err := registryOptions(ctx, name, plain, moves)
		if err == nil {
			_, err = registry.Pull(ctx, name.String(), dir, options)
		}
		return err
	})
	var status terminal.ExitStatus
	switch {
	case errors.As(err, &status):
		a.Say("interrupted; the same command goes on from here")
	case err == nil && !a.JSON:
		sum := moves.traffic()
		a.Say("pulled %s; %s", sum.moved(), sum.skipped())
	}
	return err
}

// pullDir is where an image's blobs wait, the same for each attempt, for one
// pull at a time.
func pullDir(name registry.Reference) (dir string, release func(), err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256([]byte(name.String()))
	dir = filepath.Join(cache, "pull-"+hex.EncodeToString(sum[:8]))
	lock, err := launch.LockFile(dir + ".lock")
	if err != nil {
		return "", nil, forkbox.Errorf(forkbox.Busy, "pull "+name.String(), "another pull of it is under way, or its place in the cache cannot be used: %w", err)
	}
	return dir, func() { os.Remove(lock.Name()); lock.Close() }, nil
}

// readLayout is what a layout's images need, as a tar. What earlier attempts
// left beside that is not part of it.
func readLayout(ctx context.Context, dir, name string) (*flags.Archive, error) {
	layout, err := oci.OpenLayout(dir)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(layout.WriteArchive(ctx, w)) }()
	return &flags.Archive{ReadCloser: r, Name: name}, nil
}
