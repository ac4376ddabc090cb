package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Operations lists the caller's long work, the oldest first.
func (c Keeper) Operations(ctx context.Context) ([]forkbox.Operation, error) {
	list, err := do(ctx, c.link, "list operations", api.ListOperations, api.None{}, nil)
	return list.Operations, err
}

// Operation finds one by its id.
func (c Keeper) Operation(ctx context.Context, id string) (forkbox.Operation, error) {
	return do(ctx, c.link, "find operation "+id, api.GetOperation, api.None{}, nil, id)
}

// FollowOperation yields an operation whenever it stands otherwise, the last time when
// it is over.
func (c Keeper) FollowOperation(ctx context.Context, id string, yield func(forkbox.Operation) error) error {
	op := "follow operation " + id
	resp, err := c.send(ctx, op, api.FollowOperation.Route, nil, nil, id)
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line api.OperationLine) error {
		if line.Error != nil {
			return line.Error
		}
		return yield(*line.Operation)
	})
}

// CancelOperation has an operation end and what it began be put back, and returns when
// it is over.
func (c Keeper) CancelOperation(ctx context.Context, id string) (forkbox.Operation, error) {
	return do(ctx, c.link, "cancel operation "+id, api.CancelOperation, api.None{}, nil, id)
}
