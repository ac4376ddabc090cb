package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Secrets lists the caller's, without their values.
func (c Keeper) Secrets(ctx context.Context) ([]forkbox.Secret, error) {
	list, err := do(ctx, c.link, "list secrets", api.ListSecrets, api.None{}, nil)
	return list.Secrets, err
}

// SetSecret keeps a value, in place of the one of that name.
func (c Keeper) SetSecret(ctx context.Context, name string, req api.SecretRequest) error {
	_, err := do(ctx, c.link, "keep secret "+name, api.SetSecret, req, nil, name)
	return err
}

// RemoveSecret forgets one.
func (c Keeper) RemoveSecret(ctx context.Context, name string) error {
	_, err := do(ctx, c.link, "remove secret "+name, api.RemoveSecret, api.None{}, nil, name)
	return err
}
