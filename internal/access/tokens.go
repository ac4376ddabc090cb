package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Tokens are those of all users. They are held in memory, so that a request
// costs no look into the ledger, and a token that is not known takes as long as
// one that is.
type Tokens struct {
	ledger forkbox.AccessLedger
	users  *Users
	uid    int // the daemon's own
	log    *slog.Logger

	mu    sync.Mutex
	known map[string]*forkbox.Token
	used  map[string]bool // those whose last use is not written yet
	timer *time.Timer
	// held are the requests that the holders of a token are at, by how to end each.
	held map[string]map[*context.CancelCauseFunc]*Principal
}

// What is kept of tokens.
const (
	mostTokens  = 1000                // of a user that still let callers in
	keepEnded   = 30 * 24 * time.Hour // so that who has the secret of one is told why
	defaultLife = 30 * 24 * time.Hour
	// useEvery is how exact the last use is, and writeUses how long it waits to
	// be written with others.
	useEvery  = time.Minute
	writeUses = 2 * time.Second
)

// OpenTokens reads the tokens of a ledger.
func OpenTokens(ctx context.Context, ledger forkbox.AccessLedger, users *Users, uid int, log *slog.Logger) (*Tokens, error) {
	t := &Tokens{ledger: ledger, users: users, uid: uid, log: log, known: map[string]*forkbox.Token{}, used: map[string]bool{}, held: map[string]map[*context.CancelCauseFunc]*Principal{}}
	list, err := ledger.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	old := time.Now().Add(-keepEnded)
	for _, token := range list {
		if ended := token.Ended(time.Now()); ended != nil && ended.Before(old) {
			if err := ledger.DeleteToken(ctx, token.ID); err != nil {
				return nil, err
			}
			continue
		}
		t.known[token.ID] = &token
	}
	return t, nil
}

// Close writes what is not written yet.
func (t *Tokens) Close(ctx context.Context) error {
	t.mu.Lock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	return t.writeUsed(ctx)
}

// refused is the one answer to what is no token, to one that is not known, and to
// a wrong secret.
func refused() *forkbox.Error {
	return forkbox.Errorf(forkbox.Unauthenticated, "know who is asking", "the token is not valid").
		Hint("make one where the daemon runs: forkbox token create --scope boxes,exec")
}

// Authenticate finds who a token acts for.
func (t *Tokens) Authenticate(text string) (*Principal, error) {
	id, secret, _ := parseToken(text)
	sum := hashSecret(secret)
	now := time.Now()
	t.mu.Lock()
	token, known := t.known[id]
	hash := make([]byte, sha256.Size)
	if known {
		hash = token.Hash
	}
	if subtle.ConstantTimeCompare(sum[:], hash) != 1 || !known {
		t.mu.Unlock()
		return nil, refused()
	}
	if ended := token.Ended(now); ended != nil {
		e := refused()
		e.Why = "the token " + id + " " + map[bool]string{true: "was revoked", false: "expired"}[token.Revoked != nil] + " at " + ended.UTC().Format(time.RFC3339)
		t.mu.Unlock()
		return nil, e
	}
	t.noteUse(token, now)
	held := *token
	t.mu.Unlock()
	return t.principal(&held)
}

// principal is the token's owner as the machine knows them now: a user who was
// removed, or left a group, has no rights left behind in a token.
func (t *Tokens) principal(token *forkbox.Token) (*Principal, error) {
	owner, err := t.users.ByUID(token.UID)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Unauthenticated, "know who is asking", "the token's user is not known any more: %w", err)
	}
	scopes, err := ParseScopes(token.Scopes)
	if err != nil {
		return nil, err
	}
	return &Principal{Owner: owner, Kind: Token, ID: token.ID, Label: token.Name, Scopes: scopes, Until: token.Expires, token: token}, nil
}

// noteUse is called with the lock held.
func (t *Tokens) noteUse(token *forkbox.Token, now time.Time) {
	if token.Used != nil && now.Sub(*token.Used) < useEvery {
		return
	}
	now = now.UTC()
	token.Used = &now
	if t.used[token.ID] = true; len(t.used) == 1 {
		t.timer = time.AfterFunc(writeUses, func() {
			if err := t.writeUsed(context.Background()); err != nil {
				t.log.Warn("cannot record when tokens were used", "error", err)
			}
		})
	}
}

func (t *Tokens) writeUsed(ctx context.Context) error {
	t.mu.Lock()
	var list []forkbox.Token
	for id := range t.used {
		if token, ok := t.known[id]; ok {
			list = append(list, *token)
		}
	}
	clear(t.used)
	t.mu.Unlock()
	return t.ledger.UpdateTokens(ctx, list)
}

// TokenSpec is what token is asked for.
type TokenSpec struct {
	Name   string
	Scopes []string
	User   string        // name or uid; empty: the caller
	Life   time.Duration // 0 is a month; below zero is for ever
}

// Create makes a token, and returns what is shown once.
func (t *Tokens) Create(ctx context.Context, by *Principal, spec TokenSpec) (forkbox.Token, string, error) {
	const op = "make a token"
	scopes, err := ParseScopes(spec.Scopes)
	if err != nil {
		return forkbox.Token{}, "", err
	}
	if more := scopes.Beyond(by.Scopes); more != 0 {
		return forkbox.Token{}, "", forkbox.Errorf(forkbox.Denied, op, "you do not have the scope %s yourself", strings.Join(more.Names(), ", "))
	}
	if err := checkName(op, spec.Name); err != nil {
		return forkbox.Token{}, "", err
	}
	owner, err := t.ownerFor(by, spec.User)
	if err != nil {
		return forkbox.Token{}, "", err
	}
	id, secret := newSecret()
	sum := hashSecret(secret)
	token := forkbox.Token{
		ID: id, Name: spec.Name, UID: owner.UID, User: owner.Name, Scopes: scopes.Names(),
		Created: time.Now().UTC(), Hash: sum[:], Expires: expiry(spec.Life, by.token),
	}
	if by.Kind == Token {
		token.By = by.ID
	}
	if err := t.add(ctx, token, about(forkbox.EventTokenMade, by, token, "it may "+strings.Join(token.Scopes, ", "))); err != nil {
		return forkbox.Token{}, "", err
	}
	return token, writeToken(id, secret), nil
}

// about is the event of a token. Its owner is told, and never the token itself.
func about(kind forkbox.EventKind, by *Principal, token forkbox.Token, text string) forkbox.Event {
	return forkbox.Event{Kind: kind, UID: token.UID, Token: token.ID, Name: token.Name, Text: text, Data: &forkbox.EventData{By: by.Key()}}
}

// ownerFor is the user that a token is to act for. Only root can make one for
// another user, and only a daemon of root's can act for one.
func (t *Tokens) ownerFor(by *Principal, name string) (forkbox.Owner, error) {
	if name == "" {
		return by.Owner, nil
	}
	owner, err := t.users.ByName(name)
	if err != nil {
		return owner, err
	}
	if owner.UID != by.Owner.UID && (by.Owner.UID != 0 || t.uid != 0) {
		return owner, forkbox.Errorf(forkbox.Denied, "make a token", "only root makes one for another user, of a daemon of root's")
	}
	return owner, nil
}

// expiry is when a token ends: one that another made ends no later than that.
func expiry(life time.Duration, maker *forkbox.Token) *time.Time {
	var ends *time.Time
	if life == 0 {
		life = defaultLife
	}
	if life > 0 {
		at := time.Now().Add(life).UTC().Truncate(time.Second)
		ends = &at
	}
	if maker != nil && maker.Expires != nil && (ends == nil || maker.Expires.Before(*ends)) {
		return maker.Expires
	}
	return ends
}

func checkName(op, name string) error {
	const longest = 64
	odd := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	if len(name) > longest || odd {
		return forkbox.Errorf(forkbox.Invalid, op, "%.70q is no name for one", name).Hint("a name has up to %d printable characters", longest)
	}
	return nil
}

// add holds the lock while the ledger writes: a name is not given twice.
func (t *Tokens) add(ctx context.Context, token forkbox.Token, made forkbox.Event) error {
	const op = "make a token"
	t.mu.Lock()
	defer t.mu.Unlock()
	live := 0
	for _, other := range t.known {
		if other.UID != token.UID || other.Ended(token.Created) != nil {
			continue
		}
		if live++; token.Name != "" && other.Name == token.Name {
			return forkbox.Errorf(forkbox.Exists, op, "%s has a token %q already", token.User, token.Name).
				Hint("choose another name, or end that one: forkbox token rm %s", other.ID)
		}
	}
	if live >= mostTokens {
		return forkbox.Errorf(forkbox.Busy, op, "%s has %d, and that is the most", token.User, live).Hint("end some: forkbox token rm ID…")
	}
	if err := t.ledger.AddToken(ctx, token, made); err != nil {
		return err
	}
	t.known[token.ID] = &token
	return nil
}

// List has the caller's tokens, oldest first; root's callers see all users'. The
// ended ones are there for a month.
func (t *Tokens) List(by *Principal) []forkbox.Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []forkbox.Token{}
	for _, token := range t.known {
		if mine(by, token) {
			list = append(list, *token)
		}
	}
	slices.SortFunc(list, func(a, b forkbox.Token) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return list
}

func mine(by *Principal, token *forkbox.Token) bool {
	return by.Owner.UID == 0 || token.UID == by.Owner.UID
}

// Revoke ends a token, by its id or name, and all that were made with it.
func (t *Tokens) Revoke(ctx context.Context, by *Principal, ref string) ([]forkbox.Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	token, err := t.find(by, ref)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	var ended []forkbox.Token
	var told []forkbox.Event
	for _, one := range t.withOffspring(token) {
		if one.Revoked == nil {
			next := *one
			next.Revoked = &now
			ended = append(ended, next)
			told = append(told, about(forkbox.EventTokenRevoked, by, next, "it lets no caller in any more"))
		}
	}
	if err := t.ledger.UpdateTokens(ctx, ended, told...); err != nil {
		return nil, err
	}
	for _, one := range ended {
		*t.known[one.ID] = one
		t.endHeld(one)
	}
	return ended, nil
}

// find is called with the lock held.
func (t *Tokens) find(by *Principal, ref string) (*forkbox.Token, error) {
	const op = "find the token"
	if token, ok := t.known[ref]; ok && mine(by, token) {
		return token, nil
	}
	var found []*forkbox.Token
	for _, token := range t.known {
		if mine(by, token) && token.Name == ref && ref != "" && token.Ended(time.Now()) == nil {
			found = append(found, token)
		}
	}
	switch len(found) {
	case 0:
		return nil, forkbox.Errorf(forkbox.NotFound, op, "there is no token %q", ref).Hint("see: forkbox token ls")
	case 1:
		return found[0], nil
	}
	return nil, forkbox.Errorf(forkbox.Ambiguous, op, "several users have one called %q", ref).Hint("name it by its id: forkbox token ls")
}

// withOffspring is a token with those that were made with it, and with them.
func (t *Tokens) withOffspring(token *forkbox.Token) []*forkbox.Token {
	list := []*forkbox.Token{token}
	for i := 0; i < len(list); i++ {
		for _, other := range t.known {
			if other.By == list[i].ID {
				list = append(list, other)
			}
		}
	}
	return list
}

// Missing is the refusal of a caller without a scope.
func Missing(p *Principal, scope api.Scope, op, what string) error {
	e := forkbox.Errorf(forkbox.Denied, op, "%s needs the scope %s, which this %s does not have", what, scope, p.Kind)
	if p.Kind == Token {
		e.Hint("it has %s; one with more: forkbox token create --scope %s", strings.Join(p.Scopes.Names(), ","), strings.Join(append(p.Scopes.Names(), string(scope)), ","))
	}
	return e
}
