// Package file has the verbs about files of boxes: cp, and files with those below it.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/holes"
)

// CpVerb copies files into boxes, out of them, and between them.
func CpVerb(a *app.App) *cobra.Command {
	c := &copier{App: a}
	cmd := &cobra.Command{
		Use:   "cp [-r] [-a] BOX:PATH PATH | PATH BOX:PATH | BOX:PATH BOX:PATH",
		Short: "Copy files into a box, out of one, or between two",
		Long: `Copy a file, or with -r a directory, into a box, out of one, or from one to another.
A PATH of a box that is relative begins in the directory of the box, whatever
directory you are in. What is copied into a box is a change of it like any other.

Into a directory that is there the copy is put under its own name; DIR/. copies what
is in DIR instead. A target that ends with a slash has to be a directory. Modes and
times are kept, and with -a owners, where you may set them. Symlinks in a directory
stay what they are; of one that is named itself, what it leads to is copied. Devices
and sockets are left out.

- is stdin or stdout: the content of a file, and with -r a tar archive.

A file is under its name when all of it is there, and not before. What comes
out of a box never lands outside the target, whatever the box made of it.`,
		Example: `  forkbox cp try:report.txt .
  forkbox cp -r ./fixtures try:test/
  forkbox cp try:/etc/hosts -
  forkbox cp -r try:src - | tar tv
  forkbox cp -r one:build two:build`,
		Args:              app.Exactly(2, "a source and a target: forkbox cp BOX:PATH PATH"),
		ValidArgsFunction: c.complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1]) },
	}
	cmd.Flags().BoolVarP(&c.recursive, "recursive", "r", false, "copy a directory with what is in it")
	cmd.Flags().BoolVarP(&c.owners, "archive", "a", false, "as -r, and keep owners")
	return cmd
}

type copier struct {
	*app.App
	recursive, owners bool
	client            *client.Client
	flow              terminal.Flow

	mu   sync.Mutex // packing and unpacking go on at once
	left api.TarResult
}

// copied is the document of cp --json.
type copied struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Bytes int64  `json:"bytes"`
	api.TarResult
}

func (c *copier) run(ctx context.Context, from, to string) error {
	src, dst := parseSpot(from), parseSpot(to)
	c.recursive = c.recursive || c.owners
	if err := c.check(src, dst); err != nil {
		return err
	}
	c.client = c.Client()
	defer c.client.Close()
	c.flow.What = "copying " + terminal.Printable(from)
	err := c.Tidily(ctx, c.flow.Text, func(ctx context.Context) (err error) {
		dst, err = c.copy(ctx, src, dst)
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON && !dst.isStream() {
		err = c.PrintJSON(copied{src.String(), dst.String(), c.flow.Done.Load(), c.left})
	}
	return errors.Join(err, c.leftOut(src))
}

func (c *copier) check(src, dst spot) error {
	op := "copy " + terminal.Printable(src.String())
	switch {
	case src.box == "" && dst.box == "":
		return forkbox.Errorf(forkbox.Invalid, op, "neither of the two is in a box").
			Hint("a path of a box is written BOX:PATH; the boxes are in: forkbox ls")
	case dst.isStream() && c.JSON:
		return forkbox.Errorf(forkbox.Invalid, op, "stdout cannot have both the content and the document of --json")
	case dst.isStream() && c.recursive && terminal.IsTerminal(c.Stdout):
		return forkbox.Errorf(forkbox.Invalid, op, "an archive is nothing for a terminal").Hint("send it on: … | tar tv")
	}
	return nil
}

// copy returns where the copy is.
func (c *copier) copy(ctx context.Context, src, dst spot) (spot, error) {
	if src.isStream() {
		return dst, c.fromStream(ctx, dst)
	}
	found, err := c.look(ctx, src)
	if err != nil {
		return dst, err
	}
	if dst.isStream() {
		return dst, c.toStream(ctx, src, found)
	}
	if found.dir && !c.recursive {
		return dst, forkbox.Errorf(forkbox.Invalid, "copy "+terminal.Printable(src.String()), "it is a directory").Hint("copy it with what is in it: -r")
	}
	dst, err = c.target(ctx, src, dst, found)
	if err != nil {
		return dst, err
	}
	if found.dir {
		return dst, c.copyDir(ctx, src, dst)
	}
	return dst, c.copyFile(ctx, src, dst, found)
}

// source is what is copied, seen through symlinks.
type source struct {
	dir bool
	client.WriteOptions
}

func (c *copier) look(ctx context.Context, src spot) (source, error) {
	if src.box == "" {
		info, err := os.Stat(src.path)
		if err != nil {
			return source{}, localError("copy", src.path, err)
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return source{}, notAFile(src)
		}
		return source{info.IsDir(), client.WriteOptions{Mode: modeText(info.Mode()), Modified: info.ModTime(), Size: info.Size()}}, nil
	}
	info, err := c.client.Files(src.box).Stat(ctx, src.path, true)
	if err != nil {
		return source{}, err
	}
	if info.Type != "directory" && info.Type != "file" {
		return source{}, notAFile(src)
	}
	return source{info.Type == "directory", client.WriteOptions{Mode: info.Mode, Modified: info.Modified, Size: info.Size}}, nil
}

func notAFile(at spot) error {
	return forkbox.Errorf(forkbox.Invalid, "copy "+terminal.Printable(at.String()), "it is neither a file nor a directory")
}

func localError(op, path string, err error) error {
	code := forkbox.Invalid
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = forkbox.NotFound
	case errors.Is(err, fs.ErrPermission):
		code = forkbox.Denied
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return forkbox.Errorf(code, op+" "+terminal.Printable(path), "%w", err)
}

// modeText is a mode as the API has it. Setuid bits are for -a alone.
func modeText(mode fs.FileMode) string { return fmt.Sprintf("%04o", mode.Perm()) }

// target is where the copy goes: in a directory that is there under the name
// of the source, unless its contents are meant.
func (c *copier) target(ctx context.Context, src, dst spot, found source) (spot, error) {
	there, isDir, err := c.there(ctx, dst)
	if err != nil {
		return dst, err
	}
	op := "copy to " + terminal.Printable(dst.String())
	switch {
	case isDir && found.dir && src.wantsInside():
		return dst, nil
	case isDir:
		return dst.in(src.base()), nil
	case there && found.dir:
		return dst, forkbox.Errorf(forkbox.Exists, op, "it is there, and no directory")
	case dst.wantsDir() && !found.dir:
		return dst, forkbox.Errorf(forkbox.NotFound, op, "there is no such directory").
			Hint("make it first, or name the file")
	}
	return dst, nil
}

func (c *copier) there(ctx context.Context, dst spot) (there, isDir bool, err error) {
	if dst.box == "" {
		info, err := os.Stat(dst.path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, false, nil
		}
		if err != nil {
			return false, false, localError("copy to", dst.path, err)
		}
		return true, info.IsDir(), nil
	}
	info, err := c.client.Files(dst.box).Stat(ctx, dst.path, true)
	if forkbox.CodeOf(err) == forkbox.NotFound && err != nil {
		if _, boxErr := c.client.Box(ctx, dst.box); boxErr != nil {
			return false, false, boxErr
		}
		return false, false, nil
	}
	return err == nil, info.Type == "directory", err
}

// fromStream writes stdin: a file, or with -r an archive.
func (c *copier) fromStream(ctx context.Context, dst spot) (err error) {
	files, in := c.client.Files(dst.box), c.flow.Reader(os.Stdin)
	if c.recursive {
		c.left, err = files.TarIn(ctx, dst.path, in, client.TarOptions{Owners: c.owners})
		return err
	}
	if _, isDir, err := c.there(ctx, dst); err != nil || isDir || dst.wantsDir() {
		if err == nil {
			err = forkbox.Errorf(forkbox.Invalid, "copy to "+terminal.Printable(dst.String()), "it is a directory, and what comes from stdin has no name").
				Hint("name a file, or send a tar archive with -r")
		}
		return err
	}
	_, err = files.Write(ctx, dst.path, in, client.WriteOptions{})
	return err
}

// toStream writes to stdout: a file, or with -r an archive.
func (c *copier) toStream(ctx context.Context, src spot, found source) (err error) {
	switch {
	case c.recursive:
		c.left, err = c.client.Files(src.box).TarOut(ctx, src.path, c.flow.Writer(c.Stdout))
		return err
	case found.dir:
		return forkbox.Errorf(forkbox.Invalid, "copy "+terminal.Printable(src.String()), "it is a directory").Hint("as an archive: -r")
	}
	return c.readInto(ctx, src, c.Stdout)
}

func (c *copier) readInto(ctx context.Context, src spot, w io.Writer) error {
	content, err := c.client.Files(src.box).Read(ctx, src.path, client.Span{})
	if err != nil {
		return err
	}
	defer content.Close()
	c.flow.Total = max(0, content.Size)
	if file, ok := w.(*os.File); ok && w != c.Stdout {
		return holes.Copy(file, c.flow.Reader(content))
	}
	_, err = io.Copy(c.flow.Writer(w), content)
	return err
}

// copyFile copies one file.
func (c *copier) copyFile(ctx context.Context, src, dst spot, found source) error {
	if dst.box == "" {
		err := app.WriteWhole(dst.path, func(w io.Writer) error { return c.readInto(ctx, src, w) })
		if err != nil {
			return err
		}
		return dressLocal(dst.path, found)
	}
	c.flow.Total = found.Size
	var content io.Reader
	if src.box == "" {
		file, err := os.Open(src.path)
		if err != nil {
			return localError("copy", src.path, err)
		}
		defer file.Close()
		content = file
	} else {
		body, err := c.client.Files(src.box).Read(ctx, src.path, client.Span{})
		if err != nil {
			return err
		}
		defer body.Close()
		content, found.Size = body, max(0, body.Size)
	}
	_, err := c.client.Files(dst.box).Write(ctx, dst.path, c.flow.Reader(content), found.WriteOptions)
	return err
}

// dressLocal gives a copy here the mode and time that it has in the box.
func dressLocal(path string, found source) error {
	mode, err := strconv.ParseUint(found.Mode, 8, 32)
	if err != nil {
		return nil // a box that says no mode
	}
	if err := os.Chmod(path, fs.FileMode(mode).Perm()); err != nil {
		return localError("set the mode of", path, err)
	}
	return os.Chtimes(path, found.Modified, found.Modified)
}

// copyDir copies a directory, by way of an archive.
func (c *copier) copyDir(ctx context.Context, src, dst spot) error {
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := c.pack(ctx, src, w)
		w.CloseWithError(err)
		packed <- err
	}()
	err := c.unpack(ctx, dst, c.flow.Reader(r))
	r.CloseWithError(errors.Join(errStopped, err))
	if first := <-packed; first != nil && !errors.Is(first, errStopped) {
		return first // why there was no more to unpack
	}
	return err
}

// errStopped is what ends a packer whose archive nobody reads any more.
var errStopped = errors.New("the copy was given up")

func (c *copier) pack(ctx context.Context, src spot, w io.Writer) (err error) {
	if src.box != "" {
		done, err := c.client.Files(src.box).TarOut(ctx, src.path+"/", w)
		c.leave(done)
		return err
	}
	done, err := packDir(ctx, src.path, w)
	c.leave(done)
	return err
}

func (c *copier) unpack(ctx context.Context, dst spot, r io.Reader) error {
	var done api.TarResult
	var err error
	if dst.box != "" {
		done, err = c.client.Files(dst.box).TarIn(ctx, dst.path, r, client.TarOptions{Owners: c.owners})
	} else {
		done, err = unpackDir(ctx, dst.path, r, c.owners)
	}
	c.leave(done)
	return err
}

// leave notes what was left out.
func (c *copier) leave(done api.TarResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left.Left += done.Left
	c.left.Skipped = append(c.left.Skipped, done.Skipped...)
}

// leftOut tells what was left out. It is an error if a copy would miss it.
func (c *copier) leftOut(src spot) error {
	missed := forkbox.Errorf(forkbox.Invalid, "copy all of "+terminal.Printable(src.String()), "it was left out: %s", terminal.Plural(c.left.Left, "path"))
	harmless := 0
	for _, s := range c.left.Skipped {
		if s.Harmless {
			harmless++
			if !c.JSON {
				c.Say("left out %s: %s", terminal.Printable(s.Path), terminal.Printable(s.Why))
			}
			continue
		}
		missed.About(s.Path, s.Why)
	}
	if c.left.Left == harmless {
		return nil
	}
	return missed
}
