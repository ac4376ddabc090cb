package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/storage/oci"
	"github.com/forkbox/forkbox/internal/storage/oci/registry"
	"github.com/spf13/cobra"
)

func PushVerb(a *app.App) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use:   "push [--plain-http] BOX[@SNAPSHOT] REGISTRY/REPO:TAG",
		Short: "Put a box into a registry",
		Long: `Put a box as it is now, or was at a snapshot, into a registry, as the OCI image
that forkbox export writes, and print its name with its digest. What the registry
has already is not sent again. The tag is set when all of it is there.

Who you are to the registry is read from docker's configuration (DOCKER_CONFIG, or
~/.docker), and nothing is written there.`,
		Example: `  forkbox push try@green registry.example/team/try:green
  forkbox push try localhost:5000/try:latest`,
		Args:              app.Exactly(2, "a box and an image: forkbox push BOX[@SNAPSHOT] REGISTRY/REPO:TAG"),
		ValidArgsFunction: a.CompleteRefs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return push(cmd.Context(), a, args[0], args[1], plain)
		},
	}
	addPlainHTTP(cmd, &plain)
	return cmd
}

func addPlainHTTP(cmd *cobra.Command, plain *bool) {
	cmd.Flags().BoolVar(plain, "plain-http", false, "the registry has no TLS (one on this machine need not)")
}

// pushed is the document of push --json.
type pushed struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	traffic
}

func push(ctx context.Context, a *app.App, ref, image string, plain bool) error {
	name, err := registry.Parse(image)
	if err != nil {
		return err
	}
	moves := newTransfer("exporting " + terminal.Printable(ref))
	done := pushed{Reference: name.String()}
	err = a.Tidily(ctx, moves.text, func(ctx context.Context) error {
		options, err := registryOptions(ctx, name, plain, moves)
		if err != nil {
			return err
		}
		c := a.Client()
		defer c.Close()
		return withSpool(func(dir string) error {
			if err := spool(ctx, c, ref, dir); err != nil {
				return err
			}
			moves.begin("pushing")
			d, err := registry.Push(ctx, dir, image, options)
			done.Digest = d.Digest.String()
			return err
		})
	})
	if err != nil {
		return advisePlainHTTP(err)
	}
	done.traffic = moves.traffic()
	if a.JSON {
		return a.PrintJSON(done)
	}
	a.Say("pushed %s; %s", done.traffic.moved(), done.traffic.skipped())
	_, err = fmt.Fprintf(a.Stdout, "%s/%s@%s\n", name.Registry, name.Repository, done.Digest)
	return err
}

// withSpool lends a directory in the user's cache, and takes it away again.
func withSpool(do func(dir string) error) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(cache, "push-")
	if err != nil {
		return forkbox.Wrap("make room in the cache", err)
	}
	defer os.RemoveAll(dir)
	return do(dir)
}

// spool unpacks an export as a layout while it arrives.
func spool(ctx context.Context, c *client.Client, ref, dir string) error {
	r, w := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		err := c.Export(ctx, ref, w)
		w.CloseWithError(err)
		failed <- err
	}()
	_, err := oci.ReadArchive(ctx, r, dir, oci.Limits{})
	r.CloseWithError(io.ErrClosedPipe) // the export does not wait for a reader that has gone
	if own := <-failed; own != nil && !errors.Is(own, io.ErrClosedPipe) {
		return own
	}
	return err
}
