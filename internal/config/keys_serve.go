package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// serveKeys are how the daemon is reached, and by whom.
func serveKeys() []*Key {
	item := map[string]any{"type": "string"}
	return []*Key{
		own("serve.listen", "where the daemon listens beside its socket; what /etc says of it is for root's daemon alone",
			list(listKind("addresses", "[127.0.0.1:7171]", item), func(s *Settings) *[]string { return &s.Serve.Listen }), Key{Flag: "serve --listen"}),
		own("serve.hosts", "names that callers may call it by, beside its addresses and those in its certificate",
			list(listKind("names", "[build.example.com]", item), func(s *Settings) *[]string { return &s.Serve.Hosts }), Key{}),
		own("serve.certificate", "file of the certificate that it shows; without one it makes its own",
			text("path", "/etc/forkbox/tls.crt", func(s *Settings) *string { return &s.Serve.Certificate }), Key{}),
		own("serve.key", "file of that certificate's key", text("path", "/etc/forkbox/tls.key", func(s *Settings) *string { return &s.Serve.Key }), Key{}),
		own("serve.client-ca", "file of who certifies clients; without one no certificate of theirs counts",
			text("path", "/etc/forkbox/clients.pem", func(s *Settings) *string { return &s.Serve.ClientCA }), Key{}),
		own("serve.clients.NAME.user", "whom a client acts for that has this name in its certificate", ofClient(textKind("user", "ada"), func(c *Client, n *yaml.Node) (err error) {
			c.User, err = scalar(n)
			return err
		}, func(c Client) string { return c.User }), Key{}),
		own("serve.clients.NAME.scopes", "what it may do", ofClient(listKind("scopes", "[boxes, exec]", item), func(c *Client, n *yaml.Node) (err error) {
			c.Scopes, err = items(n)
			return err
		}, func(c Client) string { return listText(c.Scopes) }), Key{}),
		own("serve.group", "the group whose members a daemon of root's serves, beside root; everybody where there is no such group",
			text("group", "forkbox", func(s *Settings) *string { return &s.Serve.Group }), Key{}),
		own("serve.requests", "how many requests a second a token or client certificate may make, after five times as many at once", amount(func(s *Settings) *int { return &s.Serve.Requests }, "200"), Key{}),
		own("serve.audit", "how long entries of the audit trail are kept", duration(func(s *Settings) *time.Duration { return &s.Serve.Audit }, "90d"), Key{}),
	}
}

// text is a value that is taken as it is.
func text(what, example string, of func(*Settings) *string) kind {
	return parsed(textKind(what, example), of, func(text string) (string, error) { return text, nil }, func(text string) string { return text })
}

func amount(of func(*Settings) *int, example string) kind {
	k := Kind{"number", example, map[string]any{"type": "integer", "minimum": 1}}
	return parsed(k, of, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return 0, forkbox.Errorf(forkbox.Invalid, "read it", "%q is not a number above zero", text)
		}
		return n, nil
	}, strconv.Itoa)
}

// list is texts, in place of those that a source below said.
func list(k Kind, of func(*Settings) *[]string) kind {
	return kind{k, func(s *Settings, _ Place, n *yaml.Node) error {
		all, err := items(n)
		if err == nil {
			*of(s) = all
		}
		return err
	}, func(s *Settings, _ string) string { return listText(*of(s)) }}
}

// items are those of a list; a flag has them with commas between.
func items(n *yaml.Node) (all []string, err error) {
	switch {
	case strictyaml.IsNull(n):
		return nil, nil
	case n.Kind == yaml.ScalarNode && n.Line == 0:
		return strings.Split(n.Value, ","), nil
	case !strictyaml.IsList(n):
		return nil, fault(n, "there should be a list: [one, another]")
	}
	for _, item := range n.Content {
		one, err := scalar(item)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// ofClient is a kind of what is said of one client; its name is the third word.
func ofClient(k Kind, set func(*Client, *yaml.Node) error, get func(Client) string) kind {
	return kind{k, func(s *Settings, at Place, n *yaml.Node) error {
		name := at.Key[2]
		clients := map[string]Client{}
		for other, c := range s.Serve.Clients {
			clients[other] = c
		}
		c := clients[name]
		c.Scopes = slices.Clone(c.Scopes)
		if err := set(&c, n); err != nil {
			return err
		}
		clients[name] = c
		s.Serve.Clients = clients
		return nil
	}, func(s *Settings, name string) string { return get(s.Serve.Clients[name]) }}
}
