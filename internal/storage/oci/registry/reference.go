package registry

import (
	"net"
	"net/url"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
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
	case !isHost(host):
		return Reference{}, invalid(name, "what is before the first slash is not the name of a host")
	}
	r, why := parseRest(rest)
	if why != "" {
		return Reference{}, invalid(name, why)
	}
	r.Registry = host
	return r, nil
}

// parseRest reads what follows the host, or says why it cannot. Of a tag and a
// digest the digest counts.
func parseRest(rest string) (r Reference, why string) {
	rest, digest, hasDigest := strings.Cut(rest, "@")
	repository, tag, hasTag := strings.Cut(rest, ":")
	switch {
	case !isRepository(repository):
		return r, "that is not the name of a repository"
	case hasTag && !isTag(tag):
		return r, "what follows the colon is not a tag"
	case hasDigest && oci.Digest(digest).Validate() != nil:
		return r, "what follows the @ is not a digest"
	case hasDigest:
		tag = digest
	case !hasTag:
		tag = "latest"
	}
	return Reference{Repository: repository, Tag: tag, digest: hasDigest}, ""
}

func invalid(name, why string) error {
	return forkbox.Errorf(forkbox.Invalid, "read the image's name", "%.200q: %s", name, why).
		Hint("write it as HOST[:PORT]/NAME:TAG, with the name in small letters")
}

func isHost(host string) bool {
	u, err := url.Parse("https://" + host)
	return err == nil && u.Host == host && u.Hostname() != "" && !strings.HasSuffix(host, ":")
}

// isRepository knows the names that registries know: parts of small letters
// and digits, and between those a dot, one or two underscores, or hyphens.
func isRepository(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if !isPart(part) {
			return false
		}
	}
	return true
}

func isPart(part string) bool {
	if part == "" || !isSmall(part[0]) || !isSmall(part[len(part)-1]) {
		return false
	}
	between := func(r rune) bool { return r < 0x80 && isSmall(byte(r)) }
	for _, sign := range strings.FieldsFunc(part, between) {
		if sign != "." && sign != "_" && sign != "__" && strings.Trim(sign, "-") != "" {
			return false
		}
	}
	return true
}

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// isTag: letters, digits and underscores, later also dots and hyphens.
func isTag(tag string) bool {
	other := func(r rune) bool {
		return r >= 0x80 || !isSmall(byte(r)) && (r < 'A' || r > 'Z') && r != '_' && r != '.' && r != '-'
	}
	return tag != "" && len(tag) <= 128 && tag[0] != '.' && tag[0] != '-' && !strings.ContainsFunc(tag, other)
}

func (r Reference) String() string {
	if r.digest {
		return r.Registry + "/" + r.Repository + "@" + r.Tag
	}
	return r.Registry + "/" + r.Repository + ":" + r.Tag
}

// local says that the registry runs on this machine, where TLS is of no use and
// it is never set up.
func (r Reference) local() bool {
	host := r.Registry
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
