package change

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
)

// changeList is a line per change.
type changeList struct {
	out *bufio.Writer
	tty io.Writer
	at  place.Place
}

func (l *changeList) add(c forkbox.Change) error {
	_, err := fmt.Fprintln(l.out, Line(l.tty, l.at, c))
	return err
}

func (l *changeList) end(forkbox.Summary) error { return nil }

// nameList is a name per change.
type nameList struct {
	out *bufio.Writer
	at  place.Place
	nul bool
}

func (l *nameList) add(c forkbox.Change) error {
	if l.nul {
		l.out.WriteString(namePath(l.at, c))
		return l.out.WriteByte(0)
	}
	_, err := fmt.Fprintln(l.out, changePath(l.at, c))
	return err
}

func (l *nameList) end(forkbox.Summary) error { return nil }

// jsonList is one document, with a change per line.
type jsonList struct {
	out *bufio.Writer
	n   int
}

func (l *jsonList) add(c forkbox.Change) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	before := "{\"changes\":[\n  "
	if l.n++; l.n > 1 {
		before = ",\n  "
	}
	l.out.WriteString(before)
	_, err = l.out.Write(text)
	return err
}

func (l *jsonList) end(summary forkbox.Summary) error {
	text, err := json.Marshal(summary)
	if err != nil {
		return err
	}
	if l.n == 0 {
		l.out.WriteString("{\"changes\":[")
	}
	_, err = fmt.Fprintf(l.out, "],\n\"summary\":%s}\n", text)
	return err
}
