//go:build !linux

package services

import (
	"context"

	"github.com/forkbox/forkbox"
)

// Find needs Linux.
func Find(context.Context, forkbox.Owner) ([]forkbox.Service, []string, error) {
	return nil, nil, forkbox.Errorf(forkbox.Unsupported, "look for services", "this system is not Linux")
}
