package server

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

const hush = "s3cr3t-v4lue"

func withVault(v Vault) func(*Server) { return func(s *Server) { s.Vault = v } }

func TestSecretsAreTheCallersOwn(t *testing.T) {
	vault := &fakeVault{}
	var uid atomic.Int64
	uid.Store(4002)
	r := start(t, withVault(vault), func(s *Server) {
		s.uid = 0
		s.peer = func(net.Conn) (forkbox.Owner, error) { return forkbox.Owner{UID: int(uid.Load())}, nil }
	})
	ctx, c := t.Context(), r.client
	if err := c.SetSecret(ctx, "TOKEN", api.SecretRequest{Value: hush, Hosts: []string{"api.example", "*.x.example"}}); err != nil {
		t.Fatal(err)
	}
	if vault.kept[4002]["TOKEN"] != hush || len(vault.hosts["TOKEN"]) != 2 {
		t.Errorf("%+v", vault)
	}
	list, err := c.Secrets(ctx)
	if err != nil || len(list) != 1 || list[0].Name != "TOKEN" || list[0].Hosts[1] != "*.x.example" {
		t.Errorf("%+v %v", list, err)
	}
	c.Close() // who asks is known by the connection
	uid.Store(4003)
	if status, text := r.raw(t, "GET", "/v1/secrets", ""); status != 200 || strings.TrimSpace(text) != `{"secrets":[]}` {
		t.Errorf("another user: %d %s", status, text)
	}
	if err := c.RemoveSecret(ctx, "TOKEN"); forkbox.CodeOf(err) != forkbox.NotFound || len(vault.kept[4002]) != 1 {
		t.Errorf("another user: %v %+v", err, vault)
	}
	c.Close()
	uid.Store(4002)
	if err := c.RemoveSecret(ctx, "TOKEN"); err != nil || len(vault.kept[4002]) != 0 {
		t.Errorf("%v %+v", err, vault)
	}
	if err := c.RemoveSecret(ctx, "TOKEN"); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Error(err)
	}
}

// TestSecretsAreNeverRepeated: whatever goes wrong, the value is in no answer
// and in no line of the log.
func TestSecretsAreNeverRepeated(t *testing.T) {
	vault := &fakeVault{}
	var log bytes.Buffer
	r := start(t, withVault(vault), func(s *Server) {
		s.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	for _, body := range []string{
		``, `null`, `[]`, `{}`, hush, `"` + hush + `"`, `{"` + hush + `":1}`, `{"value":"` + hush, `{"value":"` + hush + `"}`, `{"value":"","hosts":["a"]}`,
		`{"value":"` + hush + `","hosts":[]}`, `{"value":"` + hush + `","hosts":null}`, `{"value":"` + hush + `","hosts":"a"}`,
		`{"value":"` + hush + `","hosts":["a"],"more":1}`, `{"value":"` + hush + `","value":"` + hush + `","hosts":["a"]}`,
		`{"value":["` + hush + `"],"hosts":["a"]}`, `{"VALUE":"` + hush + `","hosts":["a"]}`, `{"value":null,"hosts":["a"]}`,
		`{"value":"` + hush + "\xff" + `","hosts":["a"]}`, `{"value":"` + hush + `\ud800","hosts":["a"]}`, `{"value":"` + hush + `","hosts":["a"]}x`,
	} {
		status, text := r.raw(t, "PUT", "/v1/secrets/TOKEN", body)
		if status != 400 || strings.Contains(text, hush) {
			t.Errorf("%q: %d %s", body, status, text)
		}
	}
	if len(vault.kept) > 0 {
		t.Errorf("something was kept: %+v", vault)
	}
	good := `{"value":"` + hush + `","hosts":["a.example"]}`
	if status, text := r.raw(t, "PUT", "/v1/secrets/TOKEN", good); status != 204 || text != "" {
		t.Errorf("%d %s", status, text)
	}
	vault.refuse = errors.New("the disk is full")
	if status, text := r.raw(t, "PUT", "/v1/secrets/TOKEN", good); status != 500 || strings.Contains(text, hush) {
		t.Errorf("%d %s", status, text)
	}
	if _, text := r.raw(t, "GET", "/v1/secrets", ""); strings.Contains(text, hush) {
		t.Error(text)
	}
	r.idle.wait(t.Context()) // all is logged
	if text := log.String(); strings.Contains(text, hush) || !strings.Contains(text, "the disk is full") {
		t.Errorf("the log: %s", text)
	}
}

func TestDaemonWithoutAVault(t *testing.T) {
	r := start(t)
	ctx, c := t.Context(), r.client
	_, err := c.Secrets(ctx)
	for _, err := range []error{err, c.SetSecret(ctx, "A", api.SecretRequest{Value: "x", Hosts: []string{"h"}}), c.RemoveSecret(ctx, "A")} {
		if forkbox.CodeOf(err) != forkbox.Unsupported {
			t.Error(err)
		}
	}
}
