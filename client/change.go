package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/forkbox/forkbox"
)

// Summary counts changes.
type Summary struct {
	Total    int   `json:"total"`
	Added    int   `json:"added"`
	Modified int   `json:"modified"`
	Deleted  int   `json:"deleted"`
	Renamed  int   `json:"renamed"`
	Mode     int   `json:"mode"`
	Type     int   `json:"type"`
	Bytes    int64 `json:"bytes"` // size in the box of what is not deleted
}

// Add counts one more.
func (s *Summary) Add(c forkbox.Change) {
	s.Total++
	switch c.Kind {
	case forkbox.Added:
		s.Added++
	case forkbox.Modified:
		s.Modified++
	case forkbox.Deleted:
		s.Deleted++
		return
	case forkbox.Renamed:
		s.Renamed++
	case forkbox.Mode:
		s.Mode++
	case forkbox.Type:
		s.Type++
	}
	s.Bytes += c.Size
}

// Changes calls yield for each change of a box as it arrives; there may be
// millions. The summary is of all of them.
func (c *Client) Changes(ctx context.Context, ref string, yield func(forkbox.Change) error) (Summary, error) {
	op := "read the changes of box " + ref
	resp, err := c.send(ctx, op, http.MethodGet, boxPath(ref, "changes"), nil)
	if err != nil {
		return Summary{}, err
	}
	defer resp.Body.Close()
	var own error // yield's, which is not the daemon's fault
	summary, err := decodeChanges(resp.Body, func(change forkbox.Change) error {
		own = yield(change)
		return own
	})
	if own != nil {
		return summary, own
	}
	return summary, lost(ctx, op, err)
}

// decodeChanges reads {"changes":[…],"summary":{…}}. An error that came up
// half-way is a member "error" at the end.
func decodeChanges(r io.Reader, yield func(forkbox.Change) error) (summary Summary, err error) {
	dec := json.NewDecoder(r)
	if err := expect(dec, json.Delim('{')); err != nil {
		return summary, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return summary, err
		}
		switch key {
		case "changes":
			err = decodeEach(dec, yield)
		case "summary":
			err = dec.Decode(&summary)
		case "error":
			var failed forkbox.Error
			if err = dec.Decode(&failed); err == nil {
				err = &failed
			}
		default:
			err = dec.Decode(new(json.RawMessage))
		}
		if err != nil {
			return summary, err
		}
	}
	return summary, expect(dec, json.Delim('}'))
}

func decodeEach(dec *json.Decoder, yield func(forkbox.Change) error) error {
	if err := expect(dec, json.Delim('[')); err != nil {
		return err
	}
	for dec.More() {
		var change forkbox.Change
		if err := dec.Decode(&change); err != nil {
			return err
		}
		if err := yield(change); err != nil {
			return err
		}
	}
	return expect(dec, json.Delim(']'))
}

func expect(dec *json.Decoder, want json.Delim) error {
	got, err := dec.Token()
	if err == nil && got != want {
		err = fmt.Errorf("expected %v, got %v", want, got)
	}
	return err
}
