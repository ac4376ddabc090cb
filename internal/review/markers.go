package review

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/merge"
	"github.com/forkbox/forkbox/internal/review/patch"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// maxMarked is the largest file in which a sync's markers are looked for: it
// merges two of maxText, and most of what is larger is no text.
const maxMarked = 4 * maxText

// hold keeps a file back that would land with the conflict markers of a sync,
// whatever the box's record says of it: a record can be lost, by an export, or
// by a rename in the box. It lands where the caller asks for markers, or names
// this very file and confirms it.
func (p *Plan) hold(e *Entry, s Step) (held bool, err error) {
	meant := p.Spec.Yes && p.Chosen.named(e.Path) || p.Spec.Conflict == forkbox.Markers && !s.Landed.Merged
	if meant {
		return false, nil
	}
	for _, item := range s.Items {
		if held, err = landsMarkers(e, item); held || err != nil {
			break
		}
	}
	if !held || err != nil {
		return false, err
	}
	delete(p.several, e.Path) // nothing can be a link to it
	if p.Spec.Conflict == forkbox.Ours {
		p.Left++
		return true, nil
	}
	p.Marked++
	_, err = p.refuse(e, fmt.Sprintf("it has the markers of a sync (%q): settle them in the box; or, if that text is meant to land, name it: forkbox apply --yes%s %s %q",
		merge.Opening(boxLabels), p.asTheirs(e), p.View.Box.Name, e.Path))
	return true, err
}

// asTheirs is what it takes besides a yes where the record says as well that
// the path is undecided.
func (p *Plan) asTheirs(e *Entry) string {
	if e.Drifted || p.View.Unresolved(e.Path) {
		return " --conflict theirs"
	}
	return ""
}

// landsMarkers says whether an item brings conflicts of a sync to reality that
// reality does not have in its own version.
func landsMarkers(e *Entry, item land.Item) (bool, error) {
	if item.Op != land.Put || !item.Node.Mode.IsRegular() || item.Link != "" {
		return false, nil
	}
	text, opening := item.Bytes, []byte(merge.Opening(boxLabels))
	if item.Content != nil {
		var err error
		if text, err = readMarked(item.Node.Size, item.Content, opening); err != nil {
			return false, err
		}
	}
	if !markedBySync(text, nil) {
		return false, nil
	}
	reality, err := realityText(e)
	return markedBySync(text, reality), err
}

// markedBySync says whether a text has conflicts as a sync marks them, but for
// those that reality has as well.
func markedBySync(text, reality []byte) bool {
	return slices.ContainsFunc(merge.Marked(text, boxLabels), func(conflict []byte) bool { return !bytes.Contains(reality, conflict) })
}

// realityText is what reality has at the path; nothing, if that is no file.
func realityText(e *Entry) ([]byte, error) {
	old, err := e.Sides.Old()
	if isNotExist(err) || err == nil && !old.Mode.IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readMarked(old.Size, e.Sides.OpenOld, nil)
}

// readMarked reads a text. Most files have no conflict: one without the word
// that a conflict begins with is read in pieces, and nothing of it is returned.
func readMarked(size int64, open func() (*os.File, error), word []byte) ([]byte, error) {
	if size > maxMarked || size < int64(len(word)) {
		return nil, nil
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if has, err := contains(f, size, word); !has || err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if _, err = f.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(&text, io.LimitReader(f, maxMarked))
	}
	return text.Bytes(), err
}

// contains looks for a word in a text from where it is read. What is binary
// has none.
func contains(f io.Reader, size int64, word []byte) (bool, error) {
	buf := make([]byte, min(max(size+1, 4<<10), 64<<10))
	kept := 0 // of the piece before, as a word may begin in it
	for first := true; ; first = false {
		n, err := io.ReadFull(f, buf[kept:])
		piece := buf[:kept+n]
		switch {
		case first && patch.Binary(piece):
			return false, nil
		case bytes.Contains(piece, word):
			return true, nil
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		}
		kept = copy(buf, piece[len(piece)-min(len(word), len(piece)):])
	}
}
