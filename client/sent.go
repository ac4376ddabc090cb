package client

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"time"

	"github.com/forkbox/forkbox/api"
)

// silence is how long a stream may say nothing at all, not even that nothing
// happens, before its other end counts as gone.
const silence = 4 * api.Heartbeat

// longestSent bounds a line of a stream.
const longestSent = 1 << 20

// eachSent reads server-sent events until body ends, and closes it. That is never
// its end: it was cut off. An error of take is the caller's own.
func eachSent(ctx context.Context, op string, body io.ReadCloser, take func(name string, data []byte) error) error {
	defer body.Close()
	gone := time.AfterFunc(silence, func() { body.Close() })
	defer gone.Stop()
	var name string
	var data []byte
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), longestSent)
	for lines.Scan() {
		gone.Reset(silence)
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			data = append(data, value...)
		}
		if len(lines.Bytes()) > 0 || len(data) == 0 {
			continue // an event ends with an empty line
		}
		if err := take(name, data); err != nil {
			return err
		}
		name, data = "", nil
	}
	err := lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return lost(ctx, op, err)
}
