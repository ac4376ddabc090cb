// Package files is the engine's manager of the files of boxes: it has a process in
// the box read and write them, and never looks at a path itself. A box at rest is
// woken for it, as for a command.
package files

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/execs"
)

// Manager is safe for concurrent use.
type Manager struct {
	core  *core.Core
	execs *execs.Manager

	mu   sync.Mutex
	busy map[string]int // requests, by box
}

// New makes a manager.
func New(c *core.Core, x *execs.Manager) *Manager {
	return &Manager{core: c, execs: x, busy: map[string]int{}}
}

// most is how many requests go on in one box at once: each has a connection and
// buffers in the daemon.
const most = 64

// FileRequest is what is asked for. Path, and To of a move, may be relative to the box's
// directory.
type FileRequest struct {
	boxfiles.Request
	Path, To string
}

// visit connects to what reads and writes the files of a box. op names what is done: "read".
// The context that it returns ends with the engine, too.
func (m *Manager) visit(ctx context.Context, who forkbox.Owner, ref, op string, req *FileRequest) (context.Context, net.Conn, func(), error) {
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return nil, nil, nil, err
	}
	box, a, away, err := m.execs.Visit(ctx, op, who, ref)
	if err != nil {
		end()
		return nil, nil, nil, forkbox.Wrap(op, err)
	}
	leave := func() { away(); end() }
	conn, err := m.connect(ctx, op, who, box, a, req)
	if err != nil {
		leave()
		return nil, nil, nil, err
	}
	return ctx, conn, func() { m.count(box.ID, -1); leave() }, nil
}

func (m *Manager) connect(ctx context.Context, op string, who forkbox.Owner, box forkbox.Box, a *core.Attached, req *FileRequest) (net.Conn, error) {
	filed, ok := a.Instance.(forkbox.Filed)
	if !ok {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot reach files of a box", m.core.Provider.Name()).
			Hint("use a command: forkbox exec %s -- cat FILE", box.Name)
	}
	var err error
	if req.Request.Path, err = boxfiles.CheckPath(op, req.Path, box.Dir); err != nil {
		return nil, err
	}
	if req.To != "" {
		if req.Request.To, err = boxfiles.CheckPath(op, req.To, box.Dir); err != nil {
			return nil, err
		}
	}
	if !m.count(box.ID, 1) {
		return nil, forkbox.Errorf(forkbox.Busy, op, "%d other requests for files of %s go on", most, box.Name).
			Hint("try again when some of them are done")
	}
	conn, err := filed.Files(ctx, who)
	if err != nil {
		m.count(box.ID, -1)
		return nil, forkbox.Wrap(op, err)
	}
	return conn, nil
}

// count counts the requests of a box, and says whether there may be one more.
func (m *Manager) count(id string, n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 && m.busy[id] >= most {
		return false
	}
	if m.busy[id] += n; m.busy[id] == 0 {
		delete(m.busy, id)
	}
	return true
}

// OpenFile opens a file of a box for reading. The caller closes it.
func (m *Manager) OpenFile(ctx context.Context, who forkbox.Owner, ref string, req FileRequest) (*File, error) {
	req.Op = boxfiles.OpRead
	op := "read " + req.Path
	ctx, conn, leave, err := m.visit(ctx, who, ref, op, &req)
	if err != nil {
		return nil, err
	}
	r, err := boxfiles.Open(ctx, conn, op, req.Request)
	if err != nil {
		leave()
		return nil, err
	}
	return &File{r, sync.OnceFunc(leave)}, nil
}

// File is a file of a box that is open.
type File struct {
	*boxfiles.Reader
	leave func()
}

// Close lets the box rest again.
func (f *File) Close() error {
	defer f.leave()
	return f.Reader.Close()
}

// do makes a request in a box.
func (m *Manager) do(ctx context.Context, who forkbox.Owner, ref, op string, req FileRequest, ask func(context.Context, net.Conn, boxfiles.Request) error) error {
	ctx, conn, leave, err := m.visit(ctx, who, ref, op, &req)
	if err != nil {
		return err
	}
	defer leave()
	return ask(ctx, conn, req.Request)
}

// WriteFile replaces a file of a box, or makes one, when all of body has come.
func (m *Manager) WriteFile(ctx context.Context, who forkbox.Owner, ref string, req FileRequest, body io.Reader) (info boxfiles.Info, err error) {
	req.Op = boxfiles.OpWrite
	op := "write " + req.Path
	err = m.do(ctx, who, ref, op, req, func(ctx context.Context, conn net.Conn, ask boxfiles.Request) error {
		out, err := boxfiles.Send(ctx, conn, op, ask, body)
		if err == nil && out.Info != nil {
			info = *out.Info
		}
		return err
	})
	return info, err
}

// StatFile describes what is at a path.
func (m *Manager) StatFile(ctx context.Context, who forkbox.Owner, ref string, req FileRequest) (boxfiles.Info, error) {
	req.Op = boxfiles.OpStat
	return m.describe(ctx, who, ref, "look at "+req.Path, req)
}

// MakeDir makes a directory.
func (m *Manager) MakeDir(ctx context.Context, who forkbox.Owner, ref string, req FileRequest) (boxfiles.Info, error) {
	req.Op = boxfiles.OpMkdir
	return m.describe(ctx, who, ref, "make directory "+req.Path, req)
}

// MoveFile gives a file or directory another path.
func (m *Manager) MoveFile(ctx context.Context, who forkbox.Owner, ref string, req FileRequest) (boxfiles.Info, error) {
	req.Op = boxfiles.OpMove
	return m.describe(ctx, who, ref, "move "+req.Path, req)
}

func (m *Manager) describe(ctx context.Context, who forkbox.Owner, ref, op string, req FileRequest) (info boxfiles.Info, err error) {
	err = m.do(ctx, who, ref, op, req, func(ctx context.Context, conn net.Conn, ask boxfiles.Request) (err error) {
		info, err = boxfiles.Describe(ctx, conn, op, ask)
		return err
	})
	return info, err
}

// RemoveFile removes a file or directory.
func (m *Manager) RemoveFile(ctx context.Context, who forkbox.Owner, ref string, req FileRequest) error {
	req.Op = boxfiles.OpRemove
	op := "remove " + req.Path
	return m.do(ctx, who, ref, op, req, func(ctx context.Context, conn net.Conn, ask boxfiles.Request) error {
		_, err := boxfiles.Do(ctx, conn, op, ask)
		return err
	})
}

// ListFiles yields names in a directory, sorted, and returns where the next page
// begins.
func (m *Manager) ListFiles(ctx context.Context, who forkbox.Owner, ref string, req FileRequest, yield func(boxfiles.Info) error) (next []byte, err error) {
	req.Op = boxfiles.OpList
	op := "list " + req.Path
	err = m.do(ctx, who, ref, op, req, func(ctx context.Context, conn net.Conn, ask boxfiles.Request) (err error) {
		next, err = boxfiles.List(ctx, conn, op, ask, yield)
		return err
	})
	return next, err
}

// WatchFiles yields what changes at a path until ctx ends. begun is called once
// changes are noticed.
func (m *Manager) WatchFiles(ctx context.Context, who forkbox.Owner, ref string, req FileRequest, begun func() error, yield func(boxfiles.Change) error) error {
	req.Op = boxfiles.OpWatch
	op := "watch " + req.Path
	return m.do(ctx, who, ref, op, req, func(ctx context.Context, conn net.Conn, ask boxfiles.Request) error {
		return boxfiles.Watch(ctx, conn, op, ask, begun, yield)
	})
}

// TarOut writes an archive of a file or directory of a box.
func (m *Manager) TarOut(ctx context.Context, who forkbox.Owner, ref string, req FileRequest, w io.Writer) (out boxfiles.Outcome, err error) {
	req.Op = boxfiles.OpTarOut
	op := "pack " + req.Path
	err = m.do(ctx, who, ref, op, req, func(ctx context.Context, conn net.Conn, ask boxfiles.Request) (err error) {
		out, err = boxfiles.TarOut(ctx, conn, op, ask, w)
		return err
	})
	return out, err
}

// TarIn unpacks an archive into a directory of a box.
func (m *Manager) TarIn(ctx context.Context, who forkbox.Owner, ref string, req FileRequest, body io.Reader) (out boxfiles.Outcome, err error) {
	req.Op = boxfiles.OpTarIn
	op := "unpack into " + req.Path
	err = m.do(ctx, who, ref, op, req, func(ctx context.Context, conn net.Conn, ask boxfiles.Request) (err error) {
		out, err = boxfiles.Send(ctx, conn, op, ask, body)
		return err
	})
	return out, err
}
