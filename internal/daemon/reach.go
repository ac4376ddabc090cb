package daemon

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/access"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/listen"
	"github.com/forkbox/forkbox/internal/operations"
	"github.com/forkbox/forkbox/internal/replay"
	"github.com/forkbox/forkbox/internal/server"
)

// reach is how the daemon is reached beside its socket, and by whom.
type reach struct {
	config.Serve
	home string
}

// How many may be connected at once: a thousand event streams and some hundred
// terminals, with room to spare.
const (
	mostConnections     = 4096
	mostConnectionsEach = 2048
)

// outside opens the listeners; nil where there are none. What it makes of the
// certificate's names holds until the next start.
func (d reach) outside(log *slog.Logger) (*server.Outside, error) {
	if len(d.Listen) == 0 {
		return nil, nil
	}
	addresses, err := d.addresses()
	if err != nil {
		return nil, err
	}
	out := &server.Outside{Names: listen.NewNames(d.Hosts...)}
	if err := d.certify(out, addresses); err != nil {
		return nil, err
	}
	limit := &listen.Limit{All: mostConnections, Each: mostConnectionsEach}
	for _, a := range addresses {
		l, err := a.Open(limit)
		if err != nil {
			closeAll(out.Listeners)
			return nil, err
		}
		out.Listeners = append(out.Listeners, l)
		announce(log, l, out)
	}
	return out, nil
}

// addresses are those to listen at, understood.
func (d reach) addresses() (all []listen.Address, err error) {
	for _, text := range d.Listen {
		a, err := listen.ParseAddress(text)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func closeAll(listeners []*listen.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

func announce(log *slog.Logger, l *listen.Listener, out *server.Outside) {
	if l.Plain {
		log.Info("listening", "url", l.URL)
		return
	}
	log.Info("listening", "url", l.URL, "fingerprint", out.Fingerprint())
}

// certify readies what TLS needs, unless all addresses are plain.
func (d reach) certify(out *server.Outside, addresses []listen.Address) error {
	names, plain := d.certifiedNames(addresses)
	if plain {
		return nil
	}
	var cert *listen.Certificate
	var err error
	switch {
	case d.Certificate != "" && d.Key != "":
		cert, err = listen.GivenCertificate(d.Certificate, d.Key)
	case d.Certificate != "" || d.Key != "":
		err = forkbox.Errorf(forkbox.Invalid, "use a certificate", "there is only one of certificate and key")
	default:
		cert, err = listen.OwnCertificate(d.home, names)
	}
	if err != nil {
		return err
	}
	pool, err := clientPool(d.ClientCA)
	if err != nil {
		return err
	}
	out.TLS, out.Fingerprint, out.Expires = cert.TLS(pool), cert.Fingerprint, cert.Expires
	out.Names = listen.NewNames(append(cert.Names(), d.Hosts...)...)
	return nil
}

// certifiedNames are those for a certificate of the daemon's own making.
func (d reach) certifiedNames(addresses []listen.Address) (names []string, plain bool) {
	names, plain = append([]string{"localhost", "127.0.0.1", "::1"}, d.Hosts...), true
	if host, err := os.Hostname(); err == nil && host != "localhost" {
		names = append(names, host)
	}
	for _, a := range addresses {
		plain = plain && a.Plain
		if ip := net.ParseIP(a.Host); ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() {
			names = append(names, a.Host)
		}
	}
	return names, plain
}

func clientPool(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, forkbox.Wrap("read "+file, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, forkbox.Errorf(forkbox.Invalid, "read "+file, "there is no certificate in it").Hint("it is a PEM file of who certifies clients")
	}
	return pool, nil
}

// gatehouse is what is known of callers.
type gatehouse struct {
	users  *access.Users
	tokens *access.Tokens
	trail  *access.Trail
	keys   *replay.Keeper

	operations *operations.Keeper
}

// openGate reads tokens, and goes on with the audit trail, of an engine's ledger;
// without one there is neither.
func (d reach) openGate(ctx context.Context, engine server.Engine, log *slog.Logger) (*gatehouse, error) {
	g := &gatehouse{users: &access.Users{}}
	keeper, ok := engine.(interface{ AccessLedger() forkbox.AccessLedger })
	if !ok {
		return g, nil
	}
	var err error
	if g.tokens, err = access.OpenTokens(ctx, keeper.AccessLedger(), g.users, os.Geteuid(), log); err != nil {
		return nil, err
	}
	g.operations = operations.NewKeeper(keeper.AccessLedger(), log)
	g.keys = replay.NewKeeper(keeper.AccessLedger(), log)
	g.trail, err = access.OpenTrail(ctx, keeper.AccessLedger(), d.Audit, log)
	return g, err
}

// gateTime is how long the last records get when the daemon ends.
const gateTime = 5 * time.Second

// close writes what is not written yet.
func (g *gatehouse) close() {
	ctx, cancel := context.WithTimeout(context.Background(), gateTime)
	defer cancel()
	if g.tokens != nil {
		_ = g.tokens.Close(ctx)
	}
	if g.trail != nil {
		_ = g.trail.Close(ctx) // its log says why not
	}
}

// How often callers from outside may ask: enough for any program that is not in a
// loop, and for people who type.
const (
	failuresASecond = 1.0 / 6
	failuresAtOnce  = 20
	mostUpload      = 16 << 30
)

// burst is how many seconds' worth of requests may come at once.
const burst = 5

func (d reach) requests() *access.Rate {
	return &access.Rate{PerSecond: float64(d.Requests), Burst: burst * d.Requests}
}

func (d reach) failures() *access.Rate {
	return &access.Rate{PerSecond: failuresASecond, Burst: failuresAtOnce}
}

// clients are those of the configuration, understood.
func (d reach) clients() (access.Clients, error) {
	all := access.Clients{}
	for name, c := range d.Clients {
		_, err := access.ParseScopes(c.Scopes)
		if err == nil && c.User == "" {
			err = forkbox.Errorf(forkbox.Invalid, "read serve.clients", "it is not said whom %q acts for: user is missing", name)
		}
		if err != nil {
			return nil, err
		}
		all[name] = access.Client{User: c.User, Scopes: c.Scopes}
	}
	return all, nil
}

// check refuses what makes no sense before anything is made for it.
func (d reach) check() error {
	_, err := d.addresses()
	if err == nil {
		_, err = d.clients()
	}
	return err
}

// groupID is the group whose members a daemon of root's serves; -1 where there is
// none: then it serves everybody.
func (d reach) groupID() int {
	if os.Geteuid() != 0 || d.Group == "" {
		return -1
	}
	group, err := user.LookupGroup(d.Group)
	if err != nil {
		return -1
	}
	id, err := strconv.Atoi(group.Gid)
	if err != nil {
		return -1
	}
	return id
}
