package oci

import (
	"runtime"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Want says which image of a layout is meant. Every field may be zero.
type Want struct {
	Ref  string // its name; needed only where there are several
	Arch string // this machine's if empty
}

// candidate is an image in a layout.
type candidate struct {
	manifest Descriptor
	ref      string
	os, arch string
}

// IsIndex says whether a media type is that of a list of images.
func IsIndex(mediaType string) bool {
	return mediaType == MediaTypeIndex || mediaType == DockerList
}

// IsManifest says whether a media type is that of one image.
func IsManifest(mediaType string) bool {
	return mediaType == MediaTypeManifest || mediaType == DockerManifest
}

// choose finds the one image that is meant.
func (l *Layout) choose(w Want) (candidate, error) {
	index := emptyIndex()
	if err := l.readJSON(indexFile, index); err != nil {
		return candidate{}, err
	}
	all, err := l.candidates(index.Manifests, "", 0)
	if err != nil {
		return candidate{}, err
	}
	return pick(all, w)
}

// candidates lists the images of an index and of the indexes in it.
func (l *Layout) candidates(list []Descriptor, ref string, depth int) (all []candidate, err error) {
	if depth > 3 || len(list) > 1000 {
		return nil, forkbox.Errorf(forkbox.Invalid, opRead, "its lists of images are too deep or too long")
	}
	for _, d := range list {
		name := ref
		if name == "" {
			name = d.Annotations[refName]
		}
		switch {
		case IsIndex(d.MediaType):
			var inner Index
			if err := l.readBlobJSON(d, &inner); err != nil {
				return nil, err
			}
			more, err := l.candidates(inner.Manifests, name, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		case IsManifest(d.MediaType):
			all = append(all, l.candidate(d, name))
		}
	}
	return all, nil
}

// candidate finds out what an image is for. Where its entry does not say, its
// configuration does; a list may have more images than the layout.
func (l *Layout) candidate(d Descriptor, ref string) candidate {
	c := candidate{manifest: d, ref: ref}
	if d.Platform != nil {
		c.os, c.arch = d.Platform.OS, d.Platform.Architecture
		return c
	}
	var m Manifest
	var config imageConfig
	if l.readBlobJSON(d, &m) == nil && l.readBlobJSON(m.Config, &config) == nil {
		c.os, c.arch = config.OS, config.Architecture
	}
	return c
}

func (l *Layout) readBlobJSON(d Descriptor, v any) error {
	data, err := l.ReadBlob(d)
	if err != nil {
		return err
	}
	return parseJSON(d.Digest.String(), data, v)
}

func pick(all []candidate, w Want) (candidate, error) {
	if w.Arch == "" {
		w.Arch = runtime.GOARCH
	}
	var fit []candidate
	for _, c := range all {
		if c.os == "linux" && c.arch == w.Arch && (w.Ref == "" || c.ref == w.Ref) && !hasDigest(fit, c.manifest.Digest) {
			fit = append(fit, c)
		}
	}
	switch {
	case len(all) == 0:
		return candidate{}, forkbox.Errorf(forkbox.Invalid, opRead, "there is no image in it")
	case len(fit) == 0 && w.Ref != "":
		return candidate{}, forkbox.Errorf(forkbox.NotFound, opRead, "there is no image %q for linux/%s in it: it has %s", w.Ref, w.Arch, describe(all))
	case len(fit) == 0:
		return candidate{}, forkbox.Errorf(forkbox.NotFound, opRead, "there is no image for linux/%s in it: it has %s", w.Arch, describe(all))
	case len(fit) > 1 && named(fit):
		return candidate{}, forkbox.Errorf(forkbox.Ambiguous, opRead, "there are several images in it: %s", describe(fit)).Hint("name the one you mean")
	}
	return fit[0], nil
}

// named says whether the images are different ones, and not variants of one
// for several kinds of processor.
func named(list []candidate) bool {
	return slices.ContainsFunc(list, func(c candidate) bool { return c.ref != list[0].ref })
}

func hasDigest(list []candidate, d Digest) bool {
	return slices.ContainsFunc(list, func(c candidate) bool { return c.manifest.Digest == d })
}

func describe(list []candidate) string {
	var words []string
	for _, c := range list[:min(len(list), 20)] {
		word := c.os + "/" + c.arch
		if c.ref != "" {
			word = c.ref + " (" + word + ")"
		}
		words = append(words, word)
	}
	return strings.Join(slices.Compact(words), ", ")
}

// Choose picks the image for this kind of machine from a list.
func Choose(list []Descriptor, w Want) (Descriptor, error) {
	var all []candidate
	for _, d := range list {
		if IsManifest(d.MediaType) && d.Platform != nil {
			all = append(all, candidate{manifest: d, os: d.Platform.OS, arch: d.Platform.Architecture})
		}
	}
	c, err := pick(all, Want{Arch: w.Arch})
	return c.manifest, err
}
