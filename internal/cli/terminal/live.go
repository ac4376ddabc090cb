package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// liveEvery is how often a live view is drawn.
const liveEvery = 2 * time.Second

// Live draws something anew every two seconds. On a terminal it has the screen
// for itself until q or ctrl-C; elsewhere one follows the other.
func (t *Terminal) Live(ctx context.Context, draw func(context.Context, io.Writer) error) error {
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	out := io.Writer(t.Stdout)
	if !t.JSON && IsTerminal(t.Stdout) {
		s := openScreen(t.Stdout)
		defer s.close()
		go s.awaitQuit(quit)
		out = s
	}
	err := Heeding([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, ctx, func(ctx context.Context) error {
		return redraw(ctx, out, draw)
	})
	if errors.Is(err, context.Canceled) || errors.Is(err, Interrupted) {
		return nil // that is how it ends
	}
	return err
}

func redraw(ctx context.Context, out io.Writer, draw func(context.Context, io.Writer) error) error {
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for {
		var page bytes.Buffer
		if err := draw(ctx, &page); err != nil {
			return err
		}
		if _, err := out.Write(page.Bytes()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// screen is the terminal's other page, so that what was on it comes back.
type screen struct {
	out  io.Writer
	keys func() // puts them back
}

func openScreen(out io.Writer) *screen {
	io.WriteString(out, "\x1b[?1049h\x1b[?25l")
	return &screen{out, MakeRaw(os.Stdin)}
}

func (s *screen) close() {
	io.WriteString(s.out, "\x1b[?25h\x1b[?1049l")
	s.keys()
}

// Write shows a page in place of the one before, as much of it as fits.
func (s *screen) Write(page []byte) (int, error) {
	lines := strings.Split(strings.TrimRight(string(page), "\n"), "\n")
	width, height := 80, 24
	if f, ok := s.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			width, height = w, h
		}
	}
	var text strings.Builder
	text.WriteString("\x1b[H")
	for i, line := range lines[:min(len(lines), height)] {
		if i > 0 {
			text.WriteString("\r\n")
		}
		runes := []rune(line)
		text.WriteString(string(runes[:min(len(runes), width)]) + "\x1b[K")
	}
	text.WriteString("\x1b[J")
	if _, err := io.WriteString(s.out, text.String()); err != nil {
		return 0, err
	}
	return len(page), nil
}

// awaitQuit ends with the process: a read cannot be taken back.
func (s *screen) awaitQuit(quit func()) {
	if !IsTerminal(os.Stdin) {
		return
	}
	key := make([]byte, 1)
	for {
		if n, err := os.Stdin.Read(key); n == 0 || err != nil {
			return
		}
		switch key[0] {
		case 'q', 'Q', 3, 4:
			quit()
			return
		}
	}
}
