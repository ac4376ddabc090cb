package registry

import (
	"context"
	"path/filepath"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/forkbox/forkbox"
)

// Credential is who we are to a registry; zero is nobody in particular.
type Credential struct {
	Username string
	Password string
	Token    string // instead of a password, where a helper has one
}

// Credentials looks up who we are in docker's configuration: its config.json
// holds passwords, or names the program (docker-credential-NAME) that knows
// them. That there are none is no error.
func Credentials(ctx context.Context, dockerConfigDir, registry string) (Credential, error) {
	const op = "find the password for the registry"
	path := filepath.Join(dockerConfigDir, "config.json")
	store, err := credentials.NewStore(path, credentials.StoreOptions{})
	if err != nil {
		return Credential{}, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	c, err := store.Get(ctx, credentials.ServerAddressFromRegistry(registry))
	if err != nil {
		return Credential{}, forkbox.Errorf(forkbox.Invalid, op, "%s: %w", registry, err).Hint("see what %s says of it", path)
	}
	return Credential{Username: c.Username, Password: c.Password, Token: c.RefreshToken}, nil
}

func (c Credential) forAuth() auth.Credential {
	if c.Token != "" {
		return auth.Credential{RefreshToken: c.Token}
	}
	return auth.Credential{Username: c.Username, Password: c.Password}
}
