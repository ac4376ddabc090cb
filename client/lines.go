package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
)

// eachLine reads JSON documents, one after another, until body ends, and closes
// it. An error of take is the caller's own.
func eachLine[T any](ctx context.Context, op string, body io.ReadCloser, take func(T) error) error {
	defer body.Close()
	for dec := json.NewDecoder(body); ; {
		var line T
		err := dec.Decode(&line)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return lost(ctx, op, err)
		}
		if err := take(line); err != nil {
			return err
		}
	}
}
