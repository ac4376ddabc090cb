package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Changes calls yield for each change of a box as it arrives; there may be
// millions. With a zero spec it lists the workspace; the summary counts all.
func (c *Client) Changes(ctx context.Context, ref string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (forkbox.Summary, error) {
	op := "read the changes of box " + ref
	resp, err := c.send(ctx, op, api.ListChanges.Route, nil, diffQuery(spec), ref)
	if err != nil {
		return forkbox.Summary{}, err
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

// diffQuery is spec as the query of a request.
func diffQuery(spec forkbox.DiffSpec) url.Values {
	q := url.Values{}
	for _, p := range spec.Paths {
		q.Add("path", p) // escaped byte by byte, so it need not be UTF-8
	}
	if spec.Against != "" {
		q.Set("against", spec.Against)
	}
	for name, set := range map[string]bool{
		"exact": spec.Exact, "all": spec.All, "patch": spec.Patch, "stat": spec.Stat, "hash": spec.Hash, "renames": spec.Renames,
	} {
		if set {
			q.Set(name, "1")
		}
	}
	return q
}

// opening is how the daemon begins: the changes first, one on each line.
const opening = `{"changes":[`

// decodeChanges reads {"changes":[…],"summary":{…}}. An error that came up
// half-way is a member "error" at the end.
func decodeChanges(r io.Reader, yield func(forkbox.Change) error) (summary forkbox.Summary, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if begin, _ := in.Peek(len(opening)); string(begin) != opening {
		return decodeMembers(json.NewDecoder(in), yield)
	}
	_, _ = in.Discard(len(opening))
	rest, err := decodeLines(in, yield)
	if err != nil {
		return summary, err
	}
	return decodeMembers(json.NewDecoder(io.MultiReader(bytes.NewReader(rest), in)), yield)
}

// decodeLines reads changes up to the line that ends their list. It returns the
// document that is left when they are taken out of it.
func decodeLines(in *bufio.Reader, yield func(forkbox.Change) error) (rest []byte, err error) {
	var long []byte
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, line...)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) || len(line)+len(long) == 0 {
			return nil, cmp.Or(err, io.ErrUnexpectedEOF)
		}
		if len(long) > 0 {
			line, long = append(long, line...), nil
		}
		text, more := bytes.CutSuffix(line, []byte(",\n"))
		if !more {
			return lastLine(line, yield)
		}
		if err := decodeOne(text, yield); err != nil {
			return nil, err
		}
	}
}

// lastLine has the last change, if there is one, and the end of the list.
func lastLine(line []byte, yield func(forkbox.Change) error) (rest []byte, err error) {
	text, rest, ok := bytes.Cut(line, []byte(`],"summary":`))
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	// One change; or, of a server that writes no lines, all of them.
	list := io.MultiReader(strings.NewReader("["), bytes.NewReader(text), strings.NewReader("]"))
	if err := decodeEach(json.NewDecoder(list), yield); err != nil {
		return nil, err
	}
	return append([]byte(`{"summary":`), rest...), nil
}

func decodeOne(text []byte, yield func(forkbox.Change) error) error {
	var change forkbox.Change
	if err := change.ParseJSON(text); err != nil {
		return err
	}
	return yield(change)
}

func decodeMembers(dec *json.Decoder, yield func(forkbox.Change) error) (summary forkbox.Summary, err error) {
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
