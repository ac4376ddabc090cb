// Package oci is how a snapshot leaves the machine, and how an image comes in.
//
// The noun in the middle is a [Layout]: a directory in the form of an OCI
// image layout. Layers and configurations are added to it, archives are
// written from it and read into it, and package registry pushes and pulls it.
//
// Out: what each layer of a snapshot holds of each filesystem is a [Tree].
//
//	err := oci.Export(ctx, w, oci.Exporting{Spool: dir, Layers: layers, Image: image})
//
// or, where the layout is to be pushed instead of streamed:
//
//	l, err := oci.CreateLayout(dir)
//	blob, err := l.AddLayer(ctx, trees, oci.Options{XattrPrefix: "trusted.overlay."}) // for each, bottom first
//	desc, err := l.AddImage(ctx, image, blobs)
//
// In:
//
//	l, err := oci.ReadArchive(ctx, r, dir, oci.DefaultLimits) // or OpenLayout(dir)
//	image, err := l.Image(oci.Want{})
//	if image.OnReality() { oci.UnpackLayer for each of image.Layers } else { oci.UnpackRoot }
//
// A plain tar of a root filesystem is a [Layer] by itself: [PlainTar].
//
// What comes in is hostile until shown otherwise. Every blob is compared with
// its digest and size while it is read, every name is resolved beneath the
// directory it is for, sizes are bounded by [Limits], and an error leaves the
// caller with a directory to throw away and nothing outside of it touched.
package oci

// How an image says that something of the layers below is gone: an empty file
// with this before the name, or one file for all names in the directory.
const (
	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..wh..opq"
	// unionPrefix is what other names of that kind begin with: bookkeeping of a
	// union filesystem of old, that no program acts on.
	unionPrefix = ".wh..wh."
)
