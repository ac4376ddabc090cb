//go:build linux

package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
	"github.com/forkbox/forkbox/internal/storage/change"
	"github.com/forkbox/forkbox/internal/storage/layers"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// images makes roots and layers of archives and images, and reads them for one.
type images struct {
	home     string
	store    *layers.Store
	rootless bool
	scenery  *scenery
	stacks   *stacks
	builder  *builder
}

// spool is where archives lie while they are written or read. It is emptied
// when the daemon starts.
func (is *images) spool() (dir string, done func(), err error) {
	parent := filepath.Join(is.home, "spool")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(parent, "")
	return dir, func() { os.RemoveAll(dir) }, err
}

// Export writes a snapshot as an archive of an image. One of reality has the
// changes only; any other is complete. newLayer names a layer that it may make
// for that.
func (p *Provider) Export(ctx context.Context, box forkbox.Box, s forkbox.Snapshot, before []forkbox.BaseSum, newLayer func() string, w io.Writer) error {
	dir, done, err := p.images.spool()
	if err != nil {
		return forkbox.Wrap("export", err)
	}
	defer done()
	box.Base = s.Base
	base, closeBase, err := p.scenery.openBase(box)
	if err != nil {
		return err
	}
	defer closeBase()
	e := oci.Exporting{Spool: dir, Image: describe(box, s)}
	e.Image.Before = before
	strata, err := p.images.strata(s, base, s.Layers)
	if err != nil {
		return err
	}
	e.Layers = strata
	_, err = oci.Export(ctx, w, e)
	if !errors.Is(err, oci.ErrRedirect) {
		return err
	}
	// An image cannot say that a directory was moved: it is written out.
	layer := newLayer()
	defer p.store.RemoveLayer(context.WithoutCancel(ctx), layer)
	how := change.Flattening{XattrPrefix: p.stacks.xattrPrefix(), Expand: true}
	if s.Base.IsReality() {
		c, err := p.scenery.concealment(box)
		if err != nil {
			return err
		}
		how.Hidden = c.hidden // a directory that was moved may have secrets in it
	}
	if err := p.stacks.flatten(ctx, s.Layers, layer, how, base); err != nil {
		return err
	}
	if e.Layers, err = p.images.strata(s, base, []string{layer}); err != nil {
		return err
	}
	_, err = oci.Export(ctx, w, e)
	return err
}

func describe(box forkbox.Box, s forkbox.Snapshot) oci.Image {
	im := oci.Image{
		Ref: box.Name + "-" + s.Name, Created: s.Created, Env: s.Base.Env, WorkingDir: orRoot(s.Base.Dir), Base: s.Base.Kind,
		Snapshot: &oci.Note{Name: s.BoxName + "@" + s.Name, Message: s.Message, Created: s.Created},
	}
	if s.Base.IsReality() {
		here := oci.Surroundings("/")
		im.Surroundings, im.WorkingDir = &here, box.Dir
	} else {
		im.Cmd = []string{"/bin/sh"}
	}
	return im
}

func orRoot(dir string) string {
	if dir == "" {
		return "/"
	}
	return dir
}

// strata are the layers of an image, the bottom one first: the base, unless
// that is reality, and what lies over it.
func (is *images) strata(of forkbox.Snapshot, base openBase, layers []string) (all []oci.Stratum, err error) {
	var reader *forkbox.Owner // a root daemon reads no more than they could
	if is.foreign(of.Owner) {
		reader = &of.Owner
	}
	if !of.Base.IsReality() {
		all = append(all, oci.Stratum{Trees: []oci.Tree{{Mount: "/", Dir: base.dir + "/."}}, Options: oci.Options{Reader: reader}})
	}
	for _, id := range slices.Backward(layers) {
		s := oci.Stratum{Options: oci.Options{XattrPrefix: is.stacks.xattrPrefix(), Reader: reader}}
		if s.Trees, err = is.trees(of.Base, id); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (is *images) trees(base forkbox.Base, layer string) (trees []oci.Tree, err error) {
	uppers, err := is.store.LayerUppers(layer)
	if err != nil {
		return nil, err
	}
	for _, u := range uppers {
		if is.stacks.bare(forkbox.Box{Base: base}, u.Mount) {
			if err := onlyStubs(u.Dir); err != nil {
				return nil, err
			}
			continue
		}
		trees = append(trees, oci.Tree{Mount: u.Mount, Dir: u.Dir})
	}
	return trees, nil
}

// onlyStubs says that there is nothing in the root directory of an unprivileged
// box but what something else was mounted on.
func onlyStubs(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if _, err := os.Lstat("/" + e.Name()); err != nil {
			return forkbox.Errorf(forkbox.Unsupported, "export", "/%s lies directly in /, which an unprivileged box does not share with reality", e.Name()).
				Hint("move or remove it in the box, or use a root daemon: sudo forkbox")
		}
	}
	return err
}

// ReadImage unpacks an archive of an image: as layers over reality, where it
// has changes only, or as a root directory. newLayer names the layers.
func (p *Provider) ReadImage(ctx context.Context, who forkbox.Owner, r io.Reader, newLayer func() string) (a forkbox.Arrival, err error) {
	dir, done, err := p.images.spool()
	if err != nil {
		return a, forkbox.Wrap("import", err)
	}
	defer done()
	layout, err := oci.ReadArchive(ctx, r, filepath.Join(dir, "layout"), oci.DefaultLimits)
	if err != nil {
		return a, err
	}
	im, err := layout.Image(oci.Want{})
	if err != nil {
		return a, err
	}
	a.Name = im.Ref
	if im.Snapshot != nil {
		a.Name = im.Snapshot.Name
	}
	a.Base = forkbox.Base{Kind: forkbox.Reality, Name: a.Name, Dir: im.WorkingDir, Foreign: p.images.foreign(who)}
	if im.OnReality() {
		if im.Surroundings != nil {
			a.Differences = oci.Differ(*im.Surroundings, oci.Surroundings("/"), nil)
		}
		a.Layers, err = p.images.unpackLayers(ctx, who, im, newLayer)
		return a, err
	}
	a.Base.Kind, a.Base.Env = "oci", im.Env
	a.Base.Root, err = p.images.unpackRoot(ctx, who, im.Digest.Encoded(), im.Layers)
	return a, err
}

// ReadTar unpacks an archive of a root directory.
func (p *Provider) ReadTar(ctx context.Context, who forkbox.Owner, r io.Reader) (base forkbox.Base, err error) {
	dir, done, err := p.images.spool()
	if err != nil {
		return base, forkbox.Wrap("read the archive", err)
	}
	defer done()
	file := filepath.Join(dir, "tar")
	sum, err := keep(ctx, r, file)
	if err != nil {
		return base, forkbox.Wrap("read the archive", err)
	}
	open := func() (io.ReadCloser, error) { return os.Open(file) }
	base.Kind, base.Foreign = "tar", p.images.foreign(who)
	base.Root, err = p.images.unpackRoot(ctx, who, sum, []oci.Layer{oci.PlainTar(open)})
	return base, err
}

// keep writes a stream to a file and says what it is.
func keep(ctx context.Context, r io.Reader, file string) (sum string, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), &cancellable{ctx, r})
	return hex.EncodeToString(h.Sum(nil)), err
}

// cancellable is a reader that ends with its context.
type cancellable struct {
	ctx context.Context
	io.Reader
}

func (c *cancellable) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(b)
}

// EmptyRoot is a base with nothing in it.
func (p *Provider) EmptyRoot(ctx context.Context, who forkbox.Owner) (forkbox.Base, error) {
	root, err := p.images.unpackRoot(ctx, who, "empty", nil)
	return forkbox.Base{Kind: "empty", Root: root, Dir: "/", Foreign: p.images.foreign(who)}, err
}

// unpackRoot unpacks layers into a directory, unless that was done before. Who
// brings an image decides whose its files are, so each user has a root apart.
func (is *images) unpackRoot(ctx context.Context, who forkbox.Owner, sum string, layers []oci.Layer) (string, error) {
	name := fmt.Sprintf("%s-%d", sum[:min(len(sum), 32)], who.UID)
	draft, err := is.newRoot(ctx, name)
	if err != nil || draft == nil {
		return is.store.Root(name), err
	}
	if _, err = oci.UnpackRoot(ctx, draft.Dir, layers, is.form(who)); err == nil {
		err = os.Chmod(draft.Dir, 0o755)
	}
	if err != nil {
		return "", errors.Join(err, draft.Abort())
	}
	return is.store.Root(name), draft.Keep()
}

// newRoot begins a root. It returns nil where the root is there already, if need
// be after it has waited for another caller to make it.
func (is *images) newRoot(ctx context.Context, name string) (*layers.Draft, error) {
	for {
		if is.store.HasRoot(name) {
			return nil, nil
		}
		draft, err := is.store.NewRoot(ctx, name)
		switch forkbox.CodeOf(err) {
		case forkbox.Exists, forkbox.Busy:
		default:
			return draft, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// foreign says whether a user has fewer rights than this daemon.
func (is *images) foreign(who forkbox.Owner) bool { return who.UID != 0 && !is.rootless }

// form: what a foreign user brings belongs to that user, wherever the daemon
// runs it.
func (is *images) form(who forkbox.Owner) oci.Form {
	f := oci.Form{XattrPrefix: is.stacks.xattrPrefix()}
	if is.foreign(who) {
		f.Owner = &who
	}
	return f
}

// unpackLayers makes a layer of each archive, and lists them topmost first. The
// lowest remembers what the image says of reality before it was changed.
func (is *images) unpackLayers(ctx context.Context, who forkbox.Owner, im *oci.Image, newLayer func() string) (layers []string, err error) {
	before := im.Before
	for _, archive := range im.Layers {
		id := newLayer()
		if err := is.unpackLayer(ctx, who, archive, id, before); err != nil {
			for _, made := range layers {
				err = errors.Join(err, is.store.RemoveLayer(context.WithoutCancel(ctx), made))
			}
			return nil, err
		}
		layers, before = append([]string{id}, layers...), nil
	}
	return layers, nil
}

func (is *images) unpackLayer(ctx context.Context, who forkbox.Owner, archive oci.Layer, id string, before []forkbox.BaseSum) error {
	plan, err := is.builder.outline(forkbox.Box{Owner: who, Net: forkbox.NetNone})
	if err != nil {
		return err
	}
	draft, err := is.store.NewLayer(ctx, id)
	if err != nil {
		return err
	}
	form := is.form(who)
	form.Parent = nodeOf
	place := func(path string) (dir, rel string, err error) {
		mount := plan.filesystem(path)
		if mount == "" || hostmounts.Below(path, hostmounts.NotShown...) {
			return "", "", forkbox.Errorf(forkbox.Unsupported, "import", "a box on this machine cannot have %s", path)
		}
		if dir, err = is.newTree(draft, mount); err != nil {
			return "", "", err
		}
		return dir, strings.Trim(strings.TrimPrefix(path, mount), "/"), nil
	}
	_, err = oci.UnpackLayer(ctx, archive, place, form)
	if err == nil && is.foreign(who) {
		err = is.closeDoors(draft, plan, who)
	}
	if err == nil && len(before) > 0 {
		err = writeBefore(draft.Dir, before)
	}
	if err != nil {
		return errors.Join(err, draft.Abort())
	}
	return draft.Keep()
}

// closeDoors gives the directories of a layer reality's owner and mode, where
// reality has them and they are not the user's who brought the layer: overlayfs
// shows the topmost, so that user could otherwise open /root to themselves.
func (is *images) closeDoors(draft *layers.Draft, plan *plan, who forkbox.Owner) error {
	for _, v := range plan.views {
		name, err := layers.Escape(v.Path)
		if err != nil {
			return err
		}
		dir := filepath.Join(draft.Dir, "upper", name)
		if _, err := os.Lstat(dir); err != nil || v.Kind != overlaid {
			continue // nothing of the layer lies on it
		}
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			st, err := os.Lstat(filepath.Join(v.Path, strings.TrimPrefix(path, dir)))
			if err != nil || !st.IsDir() || owns(st, who.UID) {
				return nil // there is nothing of reality below it, or it is theirs
			}
			uid, gid := ownerOf(st)
			return errors.Join(os.Lchown(path, uid, gid), os.Chmod(path, st.Mode()&(os.ModePerm|os.ModeSetgid|os.ModeSticky)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// newTree is the directory of one filesystem in a new layer. It looks as that
// of the base does, unless the archive says otherwise.
func (is *images) newTree(draft *layers.Draft, mount string) (string, error) {
	dir, err := draft.Mount(mount)
	if err != nil {
		return "", err
	}
	if names, err := os.ReadDir(dir); err == nil && len(names) == 0 {
		return dir, is.stacks.likeBelow(dir, mount, nil)
	}
	return dir, nil
}

// filesystem is where the overlay begins that a path lies on, "" if it lies on
// none.
func (p *plan) filesystem(path string) (on string) {
	for _, v := range p.views {
		if hostmounts.Below(path, v.Path) && len(v.Path) >= len(on) {
			on = ""
			if v.Kind == overlaid {
				on = v.Path
			}
		}
	}
	return on
}

// nodeOf describes what reality has at a path.
func nodeOf(path string) (forkbox.Node, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return forkbox.Node{}, err
	}
	uid, gid := ownerOf(st)
	return forkbox.Node{Mode: st.Mode(), UID: uid, GID: gid, ModTime: st.ModTime()}, nil
}

// emptySpool removes what a crash left of archives.
func (is *images) emptySpool() error { return os.RemoveAll(filepath.Join(is.home, "spool")) }

// CheckDir refuses a directory that cannot be a base: one that its owner may
// not look into, or that has the store in it.
func (p *Provider) CheckDir(dir string, who forkbox.Owner) (forkbox.Base, error) {
	base := forkbox.Base{Kind: "dir", Name: dir, Dir: "/", Foreign: p.images.foreign(who)}
	var err error
	base.Root, err = p.images.checkDir(dir, who)
	return base, err
}

func (is *images) checkDir(dir string, who forkbox.Owner) (string, error) {
	const op = "fork the directory"
	if who.UID != 0 && !is.rootless {
		fd, err := enterAs(dir, who)
		if err != nil {
			return "", err
		}
		unix.Close(fd)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", forkbox.Errorf(forkbox.NotFound, op, "%w", err)
	}
	st, err := os.Stat(real)
	switch {
	case err != nil:
		return "", forkbox.Errorf(forkbox.NotFound, op, "%w", err)
	case !st.IsDir():
		return "", forkbox.Errorf(forkbox.Invalid, op, "%s is not a directory", dir)
	case hostmounts.Below(is.home, real), hostmounts.Below(real, is.home):
		return "", forkbox.Errorf(forkbox.Invalid, op, "the store %s lies in it", is.home).
			Hint("for a fork of the whole machine: forkbox new")
	}
	return real, nil
}
