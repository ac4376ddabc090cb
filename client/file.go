package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Files are those of one box. Paths are the box's own; a relative one begins in
// the box's directory. What runs in the box finds what is written here, and it is a change of
// the box like any other. A box at rest is woken for it.
type Files struct {
	*link
	box string
}

// Files reaches the files of a box.
func (c *Client) Files(box string) Files { return Files{c.link, box} }

func pathQuery(path string) url.Values { return url.Values{"path": {path}} }

func setFlag(q url.Values, name string, set bool) {
	if set {
		q.Set(name, "1")
	}
}

// Span is a part of a file. A zero Length is all from Offset on.
type Span struct{ Offset, Length int64 }

// Content is a file that is being read. Size is that of what is read, -1 where
// it is not known, and Mode the file's permissions.
type Content struct {
	io.ReadCloser
	Size int64
	Mode string
	Tag  string
}

// Read opens a file, or a part of it.
func (f Files) Read(ctx context.Context, path string, part Span) (Content, error) {
	op := "read " + path
	req, err := newRequest(ctx, http.MethodGet, f.base+api.ReadFile.URL(pathQuery(path), f.box), nil)
	if err != nil {
		return Content{}, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	if part != (Span{}) {
		end := ""
		if part.Length > 0 {
			end = strconv.FormatInt(part.Offset+part.Length-1, 10)
		}
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%s", part.Offset, end))
	}
	resp, err := f.once(req, op)
	if err != nil {
		return Content{}, err
	}
	tag, _ := strconv.Unquote(resp.Header.Get("ETag"))
	body := &contentBody{ReadCloser: resp.Body, ctx: ctx, op: op}
	return Content{ReadCloser: body, Size: resp.ContentLength, Mode: resp.Header.Get("Forkbox-Mode"), Tag: tag}, nil
}

// contentBody says whose fault it is when a file breaks off.
type contentBody struct {
	io.ReadCloser
	ctx context.Context
	op  string
}

func (b *contentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = brokeOff(b.ctx, b.op, err)
	}
	return n, err
}

func brokeOff(ctx context.Context, op string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) && ctx.Err() == nil {
		return forkbox.Errorf(forkbox.Busy, op, "it broke off in the middle").
			Hint("the box was stopped, or the file was changed meanwhile; the daemon's log says which")
	}
	return lost(ctx, op, err)
}

// WriteOptions are what a written file is to be, beside its content.
type WriteOptions struct {
	Mode     string    // like "0644"; empty is that of the file it replaces
	Modified time.Time // zero is now
	Parents  bool      // make the directories above it
	New      bool      // it must not be there yet
	Match    string    // it must have this tag now
	Size     int64     // of the content, where it is known: one that ends earlier is not written
}

// Write replaces a file, or makes one, when all of its content has come.
func (f Files) Write(ctx context.Context, path string, content io.Reader, o WriteOptions) (done api.File, err error) {
	q := pathQuery(path)
	setFlag(q, "parents", o.Parents)
	if o.Mode != "" {
		q.Set("mode", o.Mode)
	}
	if !o.Modified.IsZero() {
		q.Set("modified", o.Modified.Format(time.RFC3339Nano))
	}
	head := http.Header{}
	if o.New {
		head.Set("If-None-Match", "*")
	}
	if o.Match != "" {
		head.Set("If-Match", strconv.Quote(o.Match))
	}
	err = f.put(ctx, "write "+path, api.WriteFile.Route, q, content, o.Size, head, &done)
	return done, err
}

// put sends a body. An error of it is its own, not the daemon's.
func (f Files) put(ctx context.Context, op string, route *api.Route, q url.Values, body io.Reader, size int64, head http.Header, out any) error {
	req, err := newRequest(ctx, route.Method, f.base+route.URL(q, f.box), nil)
	if err != nil {
		return forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	in := &ownErrors{read: body}
	req.Body = io.NopCloser(in)
	if req.ContentLength = -1; size > 0 {
		req.ContentLength = size
	}
	for name := range head {
		req.Header.Set(name, head.Get(name))
	}
	resp, err := f.once(req, op)
	if err != nil {
		if own := in.failed(); own != nil && ctx.Err() == nil {
			return forkbox.Wrap(op, own)
		}
		return err
	}
	defer resp.Body.Close()
	return lost(ctx, op, json.NewDecoder(resp.Body).Decode(out))
}

// once makes a request that is not repeated.
func (c *link) once(req *http.Request, op string) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, lost(req.Context(), op, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, refusal(op, resp)
	}
	return resp, nil
}

// Stat describes what is at a path; with follow, what a symlink there leads to.
func (f Files) Stat(ctx context.Context, path string, follow bool) (api.File, error) {
	q := pathQuery(path)
	setFlag(q, "follow", follow)
	return do(ctx, f.link, "look at "+path, api.StatFile, api.None{}, q, f.box)
}

// List yields what is in a directory, sorted; with a depth above 1 also what is
// in the directories below.
func (f Files) List(ctx context.Context, path string, depth int, yield func(api.File) error) error {
	q := pathQuery(path)
	if depth > 1 {
		q.Set("depth", strconv.Itoa(depth))
	}
	for {
		q.Set("limit", strconv.Itoa(listPage))
		page, err := do(ctx, f.link, "list "+path, api.ListFiles, api.None{}, q, f.box)
		if err != nil {
			return err
		}
		for _, file := range page.Files {
			if err := yield(file); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Set("cursor", page.Next)
	}
}

// listPage is how many names are asked for at once.
const listPage = 5000

// Mkdir makes a directory. With parents those above it, too, and one that is there
// is fine. An empty mode is "0755".
func (f Files) Mkdir(ctx context.Context, path, mode string, parents bool) (api.File, error) {
	q := pathQuery(path)
	setFlag(q, "parents", parents)
	if mode != "" {
		q.Set("mode", mode)
	}
	return do(ctx, f.link, "make directory "+path, api.MakeDir, api.None{}, q, f.box)
}

// Move gives a file or directory another path. Without replace nothing may be there.
func (f Files) Move(ctx context.Context, from, to string, replace bool) (api.File, error) {
	q := pathQuery(from)
	q.Set("to", to)
	setFlag(q, "replace", replace)
	return do(ctx, f.link, "move "+from, api.MoveFile, api.None{}, q, f.box)
}

// Remove removes a file, or an empty directory; with recursive any.
func (f Files) Remove(ctx context.Context, path string, recursive bool) error {
	q := pathQuery(path)
	setFlag(q, "recursive", recursive)
	_, err := do(ctx, f.link, "remove "+path, api.RemoveFile, api.None{}, q, f.box)
	return err
}

// Watch yields what changes at a path, and with recursive below it, until ctx
// ends or the path is removed. The first change is of kind [api.Watching].
func (f Files) Watch(ctx context.Context, path string, recursive bool, yield func(api.FileChange) error) error {
	op, q := "watch "+path, pathQuery(path)
	setFlag(q, "recursive", recursive)
	resp, err := f.send(ctx, op, api.WatchFiles.Route, nil, q, f.box)
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line api.FileChange) error {
		if line.Error != nil {
			return line.Error
		}
		return yield(line)
	})
}

// TarOut writes an archive of a directory, with names relative to it, or of one
// file. After an error what was written is worth nothing. What comes out of a box
// is of the box's making: unpack it with care.
func (f Files) TarOut(ctx context.Context, path string, w io.Writer) (done api.TarResult, err error) {
	op := "copy " + path
	resp, err := f.send(ctx, op, api.TarOut.Route, nil, pathQuery(path), f.box)
	if err != nil {
		return done, err
	}
	defer resp.Body.Close()
	out := &ownErrors{write: w}
	_, err = io.Copy(out, resp.Body)
	if own := out.failed(); own != nil {
		return done, forkbox.Wrap(op, own)
	}
	if err != nil {
		return done, brokeOff(ctx, op, err)
	}
	if text, err := base64.StdEncoding.DecodeString(resp.Trailer.Get(api.SkippedTrailer)); err == nil && len(text) > 0 {
		_ = json.Unmarshal(text, &done)
	}
	return done, nil
}

// TarOptions say how an archive is unpacked.
type TarOptions struct {
	Parents bool // make the directories above the one it is unpacked into
	Owners  bool // restore owners and setuid bits, where the box's user may
}

// TarIn unpacks an archive into a directory, which is made if it is not there.
func (f Files) TarIn(ctx context.Context, path string, archive io.Reader, o TarOptions) (done api.TarResult, err error) {
	q := pathQuery(path)
	setFlag(q, "parents", o.Parents)
	setFlag(q, "owners", o.Owners)
	err = f.put(ctx, "unpack into "+path, api.TarIn.Route, q, archive, 0, nil, &done)
	return done, err
}
