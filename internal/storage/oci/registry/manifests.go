package registry

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// maxManifest is what registries take at most.
const maxManifest = 4 << 20

const digestHeader = "Docker-Content-Digest"

// errNotThere says that the registry does not have it.
var errNotThere = errors.New("the registry does not have it")

func accepting() http.Header {
	types := []string{oci.MediaTypeManifest, oci.MediaTypeIndex, oci.DockerManifest, oci.DockerList}
	return http.Header{"Accept": {strings.Join(types, ", ")}}
}

// getManifest reads what a tag or a digest names, and compares it with its
// digest: the one that was asked for, or that the registry says.
func (c *client) getManifest(ctx context.Context, name string) (d oci.Descriptor, data []byte, err error) {
	r := request{method: http.MethodGet, url: c.at("manifests/" + name), header: accepting()}
	resp, data, err := c.small(ctx, r, maxManifest, http.StatusOK)
	if err != nil {
		return d, nil, missing(err)
	}
	d.Size = int64(len(data))
	if d.MediaType, _, err = mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil {
		return d, nil, forkbox.Errorf(forkbox.Invalid, opPull, "the registry does not say what kind of manifest %s is: %w", name, err)
	}
	d.Digest, err = manifestDigest(name, resp.Header.Get(digestHeader), data)
	return d, data, err
}

func manifestDigest(name, said string, data []byte) (oci.Digest, error) {
	want := oci.Digest(name)
	if want.Validate() != nil { // a tag
		want = oci.Digest(said)
	}
	if want == "" {
		return oci.FromBytes(data), nil
	}
	sum, err := want.Digester()
	if err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, opPull, "the registry says that the digest of %s is %.100q: %w", name, want, err)
	}
	sum.Write(data)
	if got := sum.Digest(); got != want {
		return "", forkbox.Errorf(forkbox.Invalid, opPull, "the manifest of %s is %s, and should be %s", name, got, want)
	}
	return want, nil
}

// findTag is the digest that a tag has now, as far as the registry says.
func (c *client) findTag(ctx context.Context, tag string) oci.Digest {
	r := request{method: http.MethodHead, url: c.at("manifests/" + tag), header: accepting()}
	resp, _, err := c.small(ctx, r, 0, http.StatusOK)
	if err != nil {
		return ""
	}
	return oci.Digest(resp.Header.Get(digestHeader))
}

func (c *client) putManifest(ctx context.Context, d oci.Descriptor, data []byte, tag string) error {
	r := request{
		method: http.MethodPut, url: c.at("manifests/" + tag), body: data,
		header: http.Header{"Content-Type": {d.MediaType}},
	}
	resp, _, err := c.small(ctx, r, maxAnswer, http.StatusCreated)
	if err != nil {
		return err
	}
	if got := oci.Digest(resp.Header.Get(digestHeader)); got != "" && got.Algorithm() == d.Digest.Algorithm() && got != d.Digest {
		return forkbox.Errorf(forkbox.Unavailable, opPush, "the registry made %.100s of the manifest, which is %s", got, d.Digest)
	}
	return nil
}

// missing tells what is not there from other refusals.
func missing(err error) error {
	var a *answer
	if errors.As(err, &a) && a.status == http.StatusNotFound && !a.login {
		return errors.Join(errNotThere, err)
	}
	return err
}
