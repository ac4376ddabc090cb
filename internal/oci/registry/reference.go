package registry

import (
	"net"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/forkbox/forkbox"
)

// Reference is an image in a registry: HOST[:PORT]/NAME[:TAG|@DIGEST].
type Reference struct {
	Registry   string
	Repository string
	Tag        string // or a digest
	digest     bool
}

// Parse reads a reference. Without a tag it is "latest", as everywhere. There
// is no registry that is meant when none is named.
func Parse(name string) (Reference, error) {
	host, rest, ok := strings.Cut(name, "/")
	switch {
	case strings.Contains(name, "://"):
		return Reference{}, invalid(name, "it is a URL: leave out what is before the host")
	case !ok || host == "" || rest == "":
		return Reference{}, invalid(name, "it names no registry, or no repository in it")
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		return Reference{}, invalid(name, "it names no registry: "+host+" is not the name of a host")
	case strings.HasSuffix(name, ":") || strings.HasSuffix(name, "@"):
		return Reference{}, invalid(name, "nothing follows its last sign")
	}
	ref, err := registry.ParseReference(name)
	if err != nil {
		return Reference{}, invalid(name, strings.TrimPrefix(err.Error(), "invalid reference: "))
	}
	r := Reference{Registry: ref.Registry, Repository: ref.Repository, Tag: ref.ReferenceOrDefault()}
	r.digest = ref.ValidateReferenceAsDigest() == nil
	return r, nil
}

func invalid(name, why string) error {
	return forkbox.Errorf(forkbox.Invalid, "read the image's name", "%.200q: %s", name, why).
		Hint("write it as HOST[:PORT]/NAME:TAG, with the name in small letters")
}

func (r Reference) String() string {
	if r.digest {
		return r.Registry + "/" + r.Repository + "@" + r.Tag
	}
	return r.Registry + "/" + r.Repository + ":" + r.Tag
}

// local says that the registry runs on this machine, where TLS is of no use
// and nobody sets it up.
func (r Reference) local() bool {
	host := r.Registry
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
