package access

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestWhatATokenHoldsEndsWithIt: a request that its holder is at is over when it is
// revoked, or one that it was made with; others go on.
func TestWhatATokenHoldsEndsWithIt(t *testing.T) {
	t.Parallel()
	tokens, me := openTokens(t, openLedger(t)), self(t)
	hold := func(text string) context.Context {
		t.Helper()
		p, err := tokens.Authenticate(text)
		if err != nil {
			t.Fatal(err)
		}
		ctx, release := tokens.Hold(t.Context(), p)
		t.Cleanup(release)
		return ctx
	}
	parent, parentText := make1(t, tokens, me, TokenSpec{Scopes: []string{"all"}})
	by, err := tokens.Authenticate(parentText)
	if err != nil {
		t.Fatal(err)
	}
	_, childText := make1(t, tokens, by, TokenSpec{Scopes: []string{"read"}})
	_, otherText := make1(t, tokens, me, TokenSpec{Scopes: []string{"read"}})
	first, second, child, other := hold(parentText), hold(parentText), hold(childText), hold(otherText)
	late, err := tokens.Authenticate(parentText)
	if err != nil {
		t.Fatal(err)
	}
	peer, release := tokens.Hold(t.Context(), me)
	defer release()
	if _, err := tokens.Revoke(t.Context(), me, parent.ID); err != nil {
		t.Fatal(err)
	}
	afterwards, release := tokens.Hold(t.Context(), late) // it was let in right before
	defer release()
	for name, ctx := range map[string]context.Context{"one": first, "another": second, "an offspring's": child, "one that came in between": afterwards} {
		<-ctx.Done()
		ended := Ended(ctx)
		wantCode(t, ended, forkbox.Unauthenticated)
		if ended != nil && !strings.Contains(ended.Error(), "was revoked") {
			t.Errorf("%s: %v", name, ended)
		}
	}
	for name, ctx := range map[string]context.Context{"another token's": other, "the peer's": peer} {
		if ctx.Err() != nil || Ended(ctx) != nil {
			t.Errorf("%s has ended, too", name)
		}
	}
}

func TestWhatExpiresEndsRequests(t *testing.T) {
	t.Parallel()
	tokens := openTokens(t, openLedger(t))
	soon := time.Now().Add(time.Millisecond)
	ctx, release := tokens.Hold(t.Context(), &Principal{Kind: Certificate, ID: "agent", Until: &soon})
	defer release()
	<-ctx.Done()
	if ended := Ended(ctx); ended == nil || !strings.Contains(ended.Error(), "the certificate agent expired") {
		t.Errorf("%v", ended)
	}
}

// TestHoldKeepsNothing: requests that are over are not remembered, and their end is
// not that of a right.
func TestHoldKeepsNothing(t *testing.T) {
	t.Parallel()
	tokens, me := openTokens(t, openLedger(t)), self(t)
	_, text := make1(t, tokens, me, TokenSpec{Scopes: []string{"read"}})
	p, err := tokens.Authenticate(text)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		ctx, release := tokens.Hold(t.Context(), p)
		release()
		if <-ctx.Done(); Ended(ctx) != nil {
			t.Error(Ended(ctx))
		}
	}
	if len(tokens.held) > 0 {
		t.Errorf("%d tokens are held", len(tokens.held))
	}
}

// TestACertificateThatRanOut lets no one in, also where TLS looked at it while it held.
func TestACertificateThatRanOut(t *testing.T) {
	t.Parallel()
	me := self(t)
	clients := Clients{"agent": {User: me.Owner.Name, Scopes: []string{"read"}}}
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "agent"}, NotAfter: time.Now().Add(time.Hour)}
	if p, err := clients.Certified(leaf, &Users{}); err != nil || p.Until == nil || !p.Until.Equal(leaf.NotAfter) {
		t.Errorf("%+v %v", p, err)
	}
	leaf.NotAfter = time.Now().Add(-time.Second)
	_, err := clients.Certified(leaf, &Users{})
	wantCode(t, err, forkbox.Unauthenticated)
}
