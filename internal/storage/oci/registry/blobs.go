package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// hasBlob says whether the repository has a blob.
func (c *client) hasBlob(ctx context.Context, d oci.Descriptor) (bool, error) {
	r := request{method: http.MethodHead, url: c.at("blobs/" + d.Digest.String())}
	_, _, err := c.small(ctx, r, 0, http.StatusOK)
	if errors.Is(missing(err), errNotThere) {
		return false, nil
	}
	return err == nil, err
}

// getBlob is the content of a blob from some byte on, or from the first one:
// not every registry can begin elsewhere.
func (c *client) getBlob(w *watch, d oci.Descriptor, from int64) (body io.ReadCloser, start int64, err error) {
	r := request{method: http.MethodGet, url: c.at("blobs/" + d.Digest.String())}
	if from > 0 {
		r.header = http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", from, d.Size-1)}}
	}
	resp, err := c.do(w, r)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case resp.StatusCode == http.StatusOK:
		return resp.Body, 0, nil
	case resp.StatusCode == http.StatusPartialContent && begins(resp.Header.Get("Content-Range"), from):
		return resp.Body, from, nil
	case from > 0 && (resp.StatusCode == http.StatusPartialContent || resp.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		resp.Body.Close()
		return c.getBlob(w, d, 0)
	}
	return nil, 0, missing(readAnswer(resp))
}

// begins says whether a part is the one that was asked for.
func begins(contentRange string, from int64) bool {
	return from > 0 && strings.HasPrefix(contentRange, fmt.Sprintf("bytes %d-", from))
}

// putBlob uploads a blob in one piece.
func (c *client) putBlob(w *watch, d oci.Descriptor, content io.Reader) error {
	to, err := c.beginUpload(w, d)
	if err != nil {
		return err
	}
	r := request{
		method: http.MethodPut, url: to, stream: content, size: d.Size,
		header: http.Header{"Content-Type": {"application/octet-stream"}},
	}
	if d.Size == 0 {
		r.stream = http.NoBody
	}
	resp, err := c.do(w, r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated {
		return readAnswer(resp)
	}
	drain(resp)
	return nil
}

// beginUpload asks where a blob is to be put.
func (c *client) beginUpload(w *watch, d oci.Descriptor) (*url.URL, error) {
	from := c.at("blobs/uploads/")
	resp, err := c.do(w, request{method: http.MethodPost, url: from})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusAccepted {
		return nil, readAnswer(resp)
	}
	drain(resp)
	return c.uploadTo(resp.Request.URL.Parse, resp.Header.Get("Location"), d.Digest)
}

// uploadTo reads where the registry wants a blob, which has its own notes in
// the query. Behind a proxy that does TLS, registries that do not know of it
// write "http" there.
func (c *client) uploadTo(parse func(string) (*url.URL, error), location string, digest oci.Digest) (*url.URL, error) {
	u, err := parse(location)
	if err != nil || location == "" || u.Host == "" {
		return nil, forkbox.Errorf(forkbox.Unavailable, opPush, "the registry does not say where to put %s: %.100q", digest, location)
	}
	if strings.EqualFold(u.Host, c.base.Host) {
		u.Scheme = c.base.Scheme
	}
	if u.Scheme != "https" && (u.Scheme != "http" || c.base.Scheme == "https") {
		return nil, forkbox.Errorf(forkbox.Unavailable, opPush, "the registry wants %s where there is no TLS: %.100q", digest, u.Host)
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "digest=" + url.QueryEscape(digest.String())
	u.User, u.Fragment = nil, ""
	return u, nil
}
