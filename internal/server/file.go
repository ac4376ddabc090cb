package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/boxfiles"
	"github.com/forkbox/forkbox/internal/engine"
)

// Files is what the server needs to reach the files of boxes. The paths are those
// of the box, and nothing here makes anything of them.
type Files interface {
	OpenFile(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest) (*engine.File, error)
	WriteFile(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest, body io.Reader) (boxfiles.Info, error)
	StatFile(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest) (boxfiles.Info, error)
	MakeDir(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest) (boxfiles.Info, error)
	MoveFile(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest) (boxfiles.Info, error)
	RemoveFile(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest) error
	ListFiles(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest, yield func(boxfiles.Info) error) (next []byte, err error)
	WatchFiles(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest, begun func() error, yield func(boxfiles.Change) error) error
	TarOut(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest, w io.Writer) (boxfiles.Outcome, error)
	TarIn(ctx context.Context, who forkbox.Owner, ref string, req engine.FileRequest, body io.Reader) (boxfiles.Outcome, error)
}

// readFile answers with the content of a file, or the part of it that a Range
// names. A file that changes meanwhile is cut off, so that no client takes it
// for whole.
func (s fileRoutes) readFile(w http.ResponseWriter, r *http.Request, _ api.None) error {
	req, err := fileRequest(r)
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	file, err := s.Engine.OpenFile(ctx, who(r), r.PathValue("box"), req)
	if err != nil {
		return err
	}
	defer file.Close()
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Forkbox-Mode", octal(file.Mode))
	if file.Endless { // the kernel makes it as it is read, and does not know how long it is
		_, err := io.Copy(w, file)
		w.(*answerWriter).cut = err != nil
		return err
	}
	head.Set("ETag", strconv.Quote(file.Tag))
	counted := &countedReader{File: file}
	out := &mute{answerWriter: w.(*answerWriter)}
	http.ServeContent(out, r, "", file.Modified, counted)
	switch {
	case out.refused == http.StatusPreconditionFailed:
		return out.failWith(out.refused, forkbox.Errorf(forkbox.Conflict, "read "+req.Path, "it is not as the request says it must be"))
	case out.refused > 0 && counted.err == nil:
		return out.failWith(out.refused, forkbox.Errorf(forkbox.Invalid, "read "+req.Path, "it has %d bytes, and not those that Range names", file.Size))
	}
	out.cut = counted.err != nil && out.begun
	return counted.err
}

// countedReader remembers what failed while it was read.
type countedReader struct {
	*engine.File
	err error
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// writeFile replaces a file once all of the body has come. If-Match and
// If-None-Match: * say what has to be there before.
func (s fileRoutes) writeFile(w http.ResponseWriter, r *http.Request, _ api.None) error {
	var conditional bool
	var failed error
	err := receive(w, r, func(body io.Reader) (any, error) {
		req, err := fileRequest(r)
		if err == nil {
			conditional, err = conditions(r, &req)
		}
		if err != nil {
			return nil, err
		}
		ctx, cancel := s.lasting(r)
		defer cancel()
		info, err := s.Engine.WriteFile(ctx, who(r), r.PathValue("box"), req, body)
		if code := forkbox.CodeOf(err); err != nil && conditional && (code == forkbox.Conflict || code == forkbox.Exists) {
			failed = err
			_ = w.(*answerWriter).failWith(http.StatusPreconditionFailed, err)
		}
		return fileOf(info), err
	})
	if failed != nil {
		return failed
	}
	return err
}

// conditions reads what has to be there before something is written.
func conditions(r *http.Request, req *engine.FileRequest) (any bool, err error) {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case none != "" && none != "*":
		return false, badRequest(fmt.Errorf("If-None-Match can only be *: the file must not be there yet"))
	case none != "" && match != "":
		return false, badRequest(fmt.Errorf("If-Match and If-None-Match exclude each other"))
	case strings.Contains(match, ","):
		return false, badRequest(fmt.Errorf("If-Match can have one tag only"))
	}
	req.New = none != ""
	req.Match = strings.Trim(match, `"`)
	return match != "" || none != "", nil
}

func (s fileRoutes) statFile(r *http.Request, _ api.None) (api.File, error) {
	return s.describe(r, s.Engine.StatFile)
}

func (s fileRoutes) makeDir(r *http.Request, _ api.None) (api.File, error) {
	return s.describe(r, s.Engine.MakeDir)
}

func (s fileRoutes) moveFile(r *http.Request, _ api.None) (api.File, error) {
	return s.describe(r, s.Engine.MoveFile)
}

func (s fileRoutes) describe(r *http.Request,
	do func(context.Context, forkbox.Owner, string, engine.FileRequest) (boxfiles.Info, error)) (api.File, error) {
	req, err := fileRequest(r)
	if err != nil {
		return api.File{}, err
	}
	info, err := do(r.Context(), who(r), r.PathValue("box"), req)
	return fileOf(info), err
}

func (s fileRoutes) removeFile(r *http.Request, _ api.None) (none api.None, err error) {
	req, err := fileRequest(r)
	if err != nil {
		return none, err
	}
	return none, s.Engine.RemoveFile(r.Context(), who(r), r.PathValue("box"), req)
}

func (s fileRoutes) listFiles(r *http.Request, _ api.None) (api.FileList, error) {
	list := api.FileList{Files: []api.File{}}
	req, err := fileRequest(r)
	if err != nil {
		return list, err
	}
	next, err := s.Engine.ListFiles(r.Context(), who(r), r.PathValue("box"), req, func(info boxfiles.Info) error {
		list.Files = append(list.Files, fileOf(info))
		return nil
	})
	list.Next = url.PathEscape(string(next))
	return list, err
}

func (s fileRoutes) watchFiles(w http.ResponseWriter, r *http.Request, _ api.None) error {
	req, err := fileRequest(r)
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: true}
	begun := func() error { return out.add(api.FileChange{Kind: api.Watching}) }
	err = s.Engine.WatchFiles(ctx, who(r), r.PathValue("box"), req, begun, func(c boxfiles.Change) error {
		text, raw := textOf(c.Path)
		return out.add(api.FileChange{Kind: string(c.Kind), Path: text, PathBytes: raw})
	})
	return out.end(s.cutOff(r, "watch files", err), func(e *forkbox.Error) any { return api.FileChange{Error: e} })
}

// tarOut streams an archive. What fails before its first byte is an answer like
// any other; later the connection is cut.
func (s fileRoutes) tarOut(w http.ResponseWriter, r *http.Request, _ api.None) error {
	req, err := fileRequest(r)
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	w.Header().Set("Content-Type", api.TarType)
	w.Header().Set("Trailer", api.SkippedTrailer)
	out, err := s.Engine.TarOut(ctx, who(r), r.PathValue("box"), req, w)
	if err != nil {
		w.Header().Del("Trailer")
		w.(*answerWriter).cut = w.(*answerWriter).begun
		return err
	}
	if out.Count > 0 {
		text, _ := json.Marshal(tarResult(out))
		w.Header().Set(api.SkippedTrailer, base64.StdEncoding.EncodeToString(text))
	}
	return nil
}

func (s fileRoutes) tarIn(w http.ResponseWriter, r *http.Request, _ api.None) error {
	return receive(w, r, func(body io.Reader) (any, error) {
		req, err := fileRequest(r)
		if err != nil {
			return nil, err
		}
		ctx, cancel := s.lasting(r)
		defer cancel()
		out, err := s.Engine.TarIn(ctx, who(r), r.PathValue("box"), req, body)
		return tarResult(out), err
	})
}

func tarResult(out boxfiles.Outcome) api.TarResult {
	done := api.TarResult{Left: out.Count}
	for _, s := range out.Skipped[:min(len(out.Skipped), boxfiles.MaxSkipped)] {
		name, _ := textOf(s.Path)
		done.Skipped = append(done.Skipped, api.SkippedPath{Path: name, Why: strings.ToValidUTF8(s.Why, "?"), Harmless: s.Why == boxfiles.WhySocket})
	}
	return done
}

// fileOf is what a box says of a file, as the API tells it.
func fileOf(info boxfiles.Info) api.File {
	f := api.File{Type: string(info.Type), Mode: octal(info.Mode), Size: info.Size, UID: info.UID, GID: info.GID, Modified: info.Modified, Tag: info.Tag}
	f.Path, f.PathBytes = textOf(info.Path)
	f.Target, _ = textOf(info.Target)
	return f
}

// textOf is a name as text, and as bytes where it is none.
func textOf(name []byte) (string, []byte) {
	if utf8.Valid(name) {
		return string(name), nil
	}
	return strings.ToValidUTF8(string(name), "\ufffd"), name
}

func octal(mode uint32) string { return fmt.Sprintf("%04o", mode&0o7777) }

// fileRequest reads a query, which has all but the content: paths in it can be
// any bytes.
func fileRequest(r *http.Request) (req engine.FileRequest, err error) {
	q := r.URL.Query()
	req.Path, req.To = q.Get("path"), q.Get("to")
	req.Parents, req.Recursive, req.Follow = isSet(r, "parents"), isSet(r, "recursive"), isSet(r, "follow")
	req.Replace, req.Owners = isSet(r, "replace"), isSet(r, "owners")
	req.Limit, req.Depth = int(min(numberOf(r, "limit"), boxfiles.MaxPage)), int(min(numberOf(r, "depth"), boxfiles.MaxDepth))
	after, err := url.PathUnescape(q.Get("cursor"))
	if err != nil {
		return req, badRequest(err)
	}
	req.After = []byte(after)
	if text := q.Get("mode"); text != "" {
		mode, err := strconv.ParseUint(text, 8, 32)
		if err != nil || mode > 0o7777 {
			return req, badRequest(fmt.Errorf("mode=%q is no mode like 0644", text))
		}
		bits := uint32(mode)
		req.Mode = &bits
	}
	if text := q.Get("modified"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return req, badRequest(fmt.Errorf("modified=%q is no time like 2026-01-31T12:00:00Z", text))
		}
		req.Modified = &at
	}
	return req, nil
}
