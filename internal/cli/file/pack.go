package file

import (
	"archive/tar"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox/api"
)

// packDir writes an archive of a directory here, with names relative to it.
func packDir(ctx context.Context, root string, w io.Writer) (api.TarResult, error) {
	p := &packer{tar: tar.NewWriter(w), root: root}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return p.left, localError("copy", root, err)
	}
	err = filepath.WalkDir(real, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, relErr := filepath.Rel(real, path)
		if relErr != nil {
			return relErr
		}
		if err != nil {
			p.skip(rel, err.Error())
			return nil
		}
		return p.add(path, filepath.ToSlash(rel), entry)
	})
	if err == nil {
		err = p.tar.Close()
	}
	return p.left, err
}

type packer struct {
	tar  *tar.Writer
	root string
	left api.TarResult
}

func (p *packer) skip(path, why string) {
	p.left.Left++
	p.left.Skipped = append(p.left.Skipped, api.SkippedPath{Path: path, Why: why})
}

func (p *packer) add(path, rel string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		p.skip(rel, err.Error())
		return nil
	}
	link := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeSocket != 0:
		p.left.Left++
		p.left.Skipped = append(p.left.Skipped, api.SkippedPath{Path: rel, Why: "it is a socket", Harmless: true})
		return nil
	case mode&fs.ModeDevice != 0:
		p.skip(rel, "it is a device")
		return nil
	case mode&fs.ModeSymlink != 0:
		if link, err = os.Readlink(path); err != nil {
			p.skip(rel, err.Error())
			return nil
		}
	}
	var file *os.File
	if info.Mode().IsRegular() {
		if file, err = os.Open(path); err != nil {
			p.skip(rel, localError("read", path, err).Error())
			return nil
		}
		defer file.Close()
		if info, err = file.Stat(); err != nil {
			return err
		}
	}
	return p.write(rel, link, info, file)
}

func (p *packer) write(rel, link string, info fs.FileInfo, file *os.File) error {
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Format, h.Uname, h.Gname = rel, tar.FormatPAX, "", ""
	if info.IsDir() {
		h.Name = rel + "/"
	}
	if err := p.tar.WriteHeader(h); err != nil || file == nil {
		return err
	}
	// A file that is written meanwhile is cut, or filled up with zeros.
	n, err := io.CopyN(p.tar, file, h.Size)
	if err == io.EOF {
		_, err = io.CopyN(p.tar, zeros{}, h.Size-n)
	}
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
