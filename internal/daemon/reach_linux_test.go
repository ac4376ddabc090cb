package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/listen"
)

var silent = slog.New(slog.DiscardHandler)

// reachProbes see what the keys of serve change.
func reachProbes() map[string]probe {
	of := func(see func(*testing.T, reach) any) func(*testing.T, *configuration) any {
		return func(t *testing.T, c *configuration) any {
			return see(t, reach{c.now.Serve, t.TempDir()})
		}
	}
	refusal := of(func(t *testing.T, d reach) any { // what the daemon says of a file that is not there
		d.Listen = []string{"127.0.0.1:0"}
		_, err := d.outside(silent)
		return fmt.Sprint(err)
	})
	clients := of(func(_ *testing.T, d reach) any {
		all, err := d.clients()
		return fmt.Sprint(all, err)
	})
	return map[string]probe{
		"serve.listen": {value: `["http://127.0.0.1:0"]`, see: of(func(t *testing.T, d reach) any {
			out, err := d.outside(silent)
			if err != nil || out == nil {
				return fmt.Sprint(err)
			}
			defer closeAll(out.Listeners)
			conn, err := net.Dial("tcp", strings.TrimPrefix(out.Listeners[0].URL, "http://"))
			if err == nil {
				conn.Close()
			}
			return err == nil
		})},
		"serve.hosts": {see: of(func(t *testing.T, d reach) any {
			d.Listen = []string{"127.0.0.1:0"}
			out, err := d.outside(silent)
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll(out.Listeners)
			cert, err := listen.OwnCertificate(d.home, d.Hosts)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(fmt.Sprint(cert.Names()), "build.example.com")
		})},
		"serve.certificate":         {value: "/nonexistent", see: refusal},
		"serve.key":                 {value: "/nonexistent", see: refusal},
		"serve.client-ca":           {value: "/nonexistent", see: refusal},
		"serve.clients.NAME.user":   {see: clients},
		"serve.clients.NAME.scopes": {see: clients},
		"serve.group": {value: "daemon", see: of(func(_ *testing.T, d reach) any {
			if os.Geteuid() != 0 {
				return d.Group // a user's daemon serves that user
			}
			return d.groupID()
		})},
		"serve.requests": {value: "3", see: of(func(_ *testing.T, d reach) any {
			rate, n := d.requests(), 0
			for now := time.Now(); n < 10_000; n++ {
				if _, ok := rate.Take("a", now); !ok {
					break
				}
			}
			return n
		})},
		"serve.audit": {value: "1d", see: of(func(_ *testing.T, d reach) any { return d.Audit })},
	}
}

// What the host's file says of listening is for root's daemon: that of a user could
// not have the same port, and would not start.
func TestTheHostsListenersAreRootsAlone(t *testing.T) {
	for root, want := range map[bool]int{true: 1, false: 0} {
		loaded, err := loadHostFile(t, "serve: {listen: ['127.0.0.1:7171'], requests: 7}\n", root)
		if err != nil || len(loaded.Serve.Listen) != want || loaded.Serve.Requests != 7 {
			t.Errorf("root %v: %+v, %v", root, loaded, err)
		}
	}
}

func loadHostFile(t *testing.T, text string, root bool) (*config.Loaded, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Options{Root: root, System: file})
}

func TestOpenSocket(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for group, want := range map[int]os.FileMode{-1: 0o666, 1: 0o660} {
		file := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := openSocket(file, group); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%d: %v %v", group, info, err)
		}
	}
}
