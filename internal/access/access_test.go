package access

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/ledger"
)

var quiet = slog.New(slog.DiscardHandler)

func openLedger(t *testing.T) forkbox.AccessLedger {
	t.Helper()
	l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func openTokens(t *testing.T, l forkbox.AccessLedger) *Tokens {
	t.Helper()
	tokens, err := OpenTokens(t.Context(), l, &Users{}, os.Geteuid(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// self is the user that tests run as, with all scopes.
func self(t *testing.T) *Principal {
	t.Helper()
	owner, err := (&Users{}).ByUID(os.Geteuid())
	if err != nil {
		t.Skip(err)
	}
	return &Principal{Owner: owner, Kind: Peer, Scopes: AllScopes}
}

func make1(t *testing.T, tokens *Tokens, by *Principal, spec TokenSpec) (forkbox.Token, string) {
	t.Helper()
	token, text, err := tokens.Create(t.Context(), by, spec)
	if err != nil {
		t.Fatal(err)
	}
	return token, text
}

func wantCode(t *testing.T, err error, code forkbox.Code) {
	t.Helper()
	if err == nil || forkbox.CodeOf(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestATokenActsForItsOwner(t *testing.T) {
	l := openLedger(t)
	tokens, me := openTokens(t, l), self(t)
	made, text := make1(t, tokens, me, TokenSpec{Name: "ci", Scopes: []string{"boxes", "exec"}})
	for range 2 { // the second time by the next daemon
		p, err := tokens.Authenticate(text)
		if err != nil {
			t.Fatal(err)
		}
		if p.Owner.UID != me.Owner.UID || p.Owner.GID != me.Owner.GID || p.Owner.Home == "" || p.Kind != Token || p.ID != made.ID || p.Label != "ci" {
			t.Errorf("%+v", p)
		}
		if !p.May(api.Boxes) || !p.May(api.Exec) || !p.May(api.Read) || !p.May(api.Open) || p.May(api.Apply) || p.May(api.Admin) || p.May("nonsense") {
			t.Errorf("scopes %v", p.Scopes.Names())
		}
		if err := tokens.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		tokens = openTokens(t, l)
	}
	if list := tokens.List(me); len(list) != 1 || list[0].Used == nil {
		t.Errorf("the last use is not recorded: %+v", list)
	}
	kept, _ := l.Tokens(t.Context())
	if strings.Contains(fmt.Sprintf("%+v %s", kept, kept[0].Hash), strings.Split(text, "_")[2]) {
		t.Error("the secret is kept")
	}
}

func TestATokenMakesNoMoreThanItself(t *testing.T) {
	tokens, me := openTokens(t, openLedger(t)), self(t)
	_, text := make1(t, tokens, me, TokenSpec{Scopes: []string{"read", "admin"}, Life: time.Hour})
	p, err := tokens.Authenticate(text)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = tokens.Create(t.Context(), p, TokenSpec{Scopes: []string{"apply"}})
	wantCode(t, err, forkbox.Denied)
	child, childText := make1(t, tokens, p, TokenSpec{Scopes: []string{"read", "admin"}, Life: -1})
	if child.Expires == nil || time.Until(*child.Expires) > time.Hour {
		t.Errorf("it outlives its maker: %v", child.Expires)
	}
	cp, err := tokens.Authenticate(childText)
	if err != nil {
		t.Fatal(err)
	}
	_, grandText := make1(t, tokens, cp, TokenSpec{Scopes: []string{"read"}})
	ended, err := tokens.Revoke(t.Context(), me, p.ID)
	if err != nil || len(ended) != 3 {
		t.Errorf("%v %v", ended, err)
	}
	for _, text := range []string{text, childText, grandText} {
		_, err := tokens.Authenticate(text)
		wantCode(t, err, forkbox.Unauthenticated)
	}
}

func TestTokensAreTheirUsersAlone(t *testing.T) {
	tokens := openTokens(t, openLedger(t))
	tokens.uid = 0
	ada := &Principal{Owner: forkbox.Owner{UID: 4001, Name: "ada"}, Kind: Peer, Scopes: AllScopes}
	bob := &Principal{Owner: forkbox.Owner{UID: 4002, Name: "bob"}, Kind: Peer, Scopes: AllScopes}
	root := &Principal{Owner: forkbox.Owner{UID: 0, Name: "root"}, Kind: Peer, Scopes: AllScopes}
	made, _ := make1(t, tokens, ada, TokenSpec{Name: "mine", Scopes: []string{"read"}})
	_, _, err := tokens.Create(t.Context(), ada, TokenSpec{User: "root", Scopes: []string{"read"}})
	wantCode(t, err, forkbox.Denied)
	_, _, err = tokens.Create(t.Context(), ada, TokenSpec{Name: "mine", Scopes: []string{"read"}})
	wantCode(t, err, forkbox.Exists)
	if len(tokens.List(bob)) != 0 || len(tokens.List(ada)) != 1 || len(tokens.List(root)) != 1 {
		t.Error("bob sees ada's, or root does not")
	}
	for _, ref := range []string{made.ID, "mine", ""} {
		_, err = tokens.Revoke(t.Context(), bob, ref)
		wantCode(t, err, forkbox.NotFound)
	}
	if token, _ := make1(t, tokens, root, TokenSpec{User: "root", Scopes: []string{"all"}, Life: -1}); token.UID != 0 || token.Expires != nil {
		t.Errorf("%+v", token)
	}
	tokens.uid = 4001 // a daemon of ada's acts for no other user, not even for root's sake
	if _, _, err := tokens.Create(t.Context(), root, TokenSpec{User: "daemon", Scopes: []string{"read"}}); err == nil {
		t.Error("a token for another user of a user's daemon")
	}
}

func TestATokenEnds(t *testing.T) {
	l := openLedger(t)
	tokens, me := openTokens(t, l), self(t)
	made, text := make1(t, tokens, me, TokenSpec{Scopes: []string{"read"}, Life: time.Hour})
	past := time.Now().Add(-time.Minute)
	tokens.known[made.ID].Expires = &past
	_, err := tokens.Authenticate(text)
	if wantCode(t, err, forkbox.Unauthenticated); !strings.Contains(err.Error(), "expired") {
		t.Error(err)
	}
	_, err = tokens.Authenticate(writeToken(made.ID, strings.Repeat("a", secretLength)))
	if err == nil || strings.Contains(err.Error(), "expired") {
		t.Errorf("without the secret: %v", err)
	}
	long := time.Now().Add(-keepEnded - time.Hour)
	made.Expires = &long
	if err := l.UpdateTokens(t.Context(), []forkbox.Token{made}); err != nil {
		t.Fatal(err)
	}
	openTokens(t, l)
	if list, _ := l.Tokens(t.Context()); len(list) != 0 {
		t.Errorf("it is kept for ever: %v", list)
	}
}

func TestScopes(t *testing.T) {
	for text, want := range map[string]string{
		"boxes,exec": "read,boxes,exec", "admin": "admin", "all": strings.Join(AllScopes.Names(), ","), "secrets,policy": "secrets,policy", "apply": "read,apply",
	} {
		got, err := ParseScopes(strings.Split(text, ","))
		if err != nil || strings.Join(got.Names(), ",") != want {
			t.Errorf("%s: %v, %v", text, got.Names(), err)
		}
	}
	for _, bad := range [][]string{nil, {""}, {"Boxes"}, {"read", "root"}} {
		_, err := ParseScopes(bad)
		wantCode(t, err, forkbox.Invalid)
	}
}

func TestRate(t *testing.T) {
	now := time.Now()
	r := &Rate{Burst: 3, PerSecond: 2}
	for i := range 3 {
		if _, ok := r.Take("a", now); !ok {
			t.Fatalf("number %d", i)
		}
	}
	wait, ok := r.Take("a", now)
	if ok || wait <= 0 || wait > 500*time.Millisecond {
		t.Errorf("%v %v", wait, ok)
	}
	if _, ok := r.Take("b", now); !ok {
		t.Error("another pays for it")
	}
	if _, ok := r.Take("a", now.Add(wait)); !ok {
		t.Error("it waited for nothing")
	}
	for i := range 3 * mostBuckets {
		r.Take(fmt.Sprint(i), now)
	}
	if len(r.left) > mostBuckets {
		t.Errorf("%d are remembered", len(r.left))
	}
	if _, ok := (*Rate)(nil).Take("a", now); !ok {
		t.Error("no rate")
	}
}

func TestTheTrailCountsWhatIsAlike(t *testing.T) {
	l := openLedger(t)
	trail, err := OpenTrail(t.Context(), l, 0, quiet)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	refusal := forkbox.Call{Time: now, UID: -1, Kind: "nobody", From: "192.0.2.1", Name: "createBox", Outcome: "unauthenticated"}
	for range 1000 {
		trail.Record(refusal)
	}
	later := refusal
	later.Time = now.Add(alikeFor)
	trail.Record(later)
	ok := forkbox.Call{Time: now, UID: 1, User: "ada", Kind: "peer", From: "unix", Name: "createBox", Outcome: "ok"}
	trail.Record(ok)
	id := trail.Record(ok)
	ok.ID, ok.Outcome = id, "conflict"
	trail.Record(ok)
	for i := range 3 * mostAlike { // different ones do not fill the disk either
		other := refusal
		other.Target = fmt.Sprint(i)
		trail.Record(other)
	}
	if err := trail.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls, err := l.Calls(t.Context(), forkbox.CallFilter{})
	if err != nil || len(calls) > mostAlike+10 {
		t.Fatalf("%d entries, %v", len(calls), err)
	}
	if calls[0].Times != 1000 || calls[1].Times != 0 || calls[2].Outcome != "ok" || calls[3].Outcome != "conflict" {
		t.Errorf("%+v", calls[:4])
	}
	sum := 0
	for _, c := range calls {
		sum += max(1, c.Times)
	}
	if sum != 1000+1+2+3*mostAlike {
		t.Errorf("%d were counted", sum)
	}
	again, err := OpenTrail(t.Context(), l, 0, quiet)
	if err != nil || again.Record(ok) == 0 || again.last != trail.last {
		t.Errorf("ids begin anew: %v", err)
	}
}

// failing is a ledger on a full disk.
type failing struct{ forkbox.AccessLedger }

func (failing) SaveCalls(context.Context, []forkbox.Call) error {
	return forkbox.Errorf(forkbox.Internal, "write", "the disk is full")
}

func TestATrailThatCannotBeWrittenIsBounded(t *testing.T) {
	trail, err := OpenTrail(t.Context(), failing{openLedger(t)}, 0, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * mostPending {
		trail.Record(forkbox.Call{Time: time.Now(), Name: "x", Outcome: "ok"})
	}
	if len(trail.pending) > mostPending {
		t.Errorf("%d wait", len(trail.pending))
	}
	if err := trail.Flush(t.Context()); err != nil && forkbox.CodeOf(err) != forkbox.Internal {
		t.Error(err)
	}
}

func FuzzParseToken(f *testing.F) {
	id, secret := newSecret()
	f.Add(writeToken(id, secret))
	f.Add("fbx__")
	f.Add("fbx_" + strings.Repeat("a", 12) + "_" + strings.Repeat("é", 26))
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, ok := parseToken(text)
		if ok && (writeToken(id, secret) != text || len(id) != idLength || len(secret) != secretLength) {
			t.Errorf("%q: %q %q", text, id, secret)
		}
		if !ok && (id != "" || secret != "") {
			t.Errorf("%q: %q %q", text, id, secret)
		}
	})
}

func FuzzParseBearer(f *testing.F) {
	for _, text := range []string{"Bearer x", "bearer  x ", "Basic x", "Bearer", "Bearer a b", "Bearer\tx", "BEARER fbx_a_b", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, ok := ParseBearer(header)
		if ok && (token == "" || strings.ContainsAny(token, " \t,") || !strings.EqualFold(header[:6], "bearer") || !strings.Contains(header, token)) {
			t.Errorf("%q: %q", header, token)
		}
	})
}

func TestSecretsAreFound(t *testing.T) {
	seen := []string{}
	for range 100 {
		id, secret := newSecret()
		text := writeToken(id, secret)
		if gotID, gotSecret, ok := parseToken(text); !ok || gotID != id || gotSecret != secret || slices.Contains(seen, text) {
			t.Fatalf("%s", text)
		}
		seen = append(seen, text)
	}
}
