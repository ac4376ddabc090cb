//go:build !linux

package land

import (
	"context"
	"os"

	"github.com/forkbox/forkbox"
)

// Landing is a landing that goes on. There are none on this system.
type Landing struct{}

func unsupported(op string) error {
	return forkbox.Errorf(forkbox.Unsupported, op, "changes can be landed on Linux only")
}

// Begin starts a landing.
func Begin(context.Context, Config) (*Landing, error) {
	return nil, unsupported("land the changes")
}

// Stage prepares one item.
func (*Landing) Stage(context.Context, Item) ([32]byte, error) {
	return [32]byte{}, unsupported("land the changes")
}

// Commit flips the tree.
func (*Landing) Commit(context.Context) error { return unsupported("land the changes") }

// Abort forgets the landing.
func (*Landing) Abort() error { return nil }

// Recover decides a landing that was interrupted.
func Recover(context.Context, Config) (Outcome, error) {
	return Outcome{}, unsupported("recover the landing")
}

// Where says where a landing stands.
func Where(string) (State, error) { return "", unsupported("read the receipt") }

// Undo takes a landing back.
func Undo(context.Context, Config, func(path string) bool) error {
	return unsupported("undo")
}

// Entries yields what a landing consists of.
func Entries(string, func(Entry) error) error { return unsupported("read the receipt") }

// Moves yields those of them that moved a directory.
func Moves(string, func(Entry) error) error { return unsupported("read the receipt") }

// Puts yields the paths at which a landing put something.
func Puts(string, func(string)) error { return unsupported("read the receipt") }

// Expire deletes what a landing keeps.
func Expire(context.Context, Config) error { return unsupported("expire the receipt") }

// Kept is how much a landing keeps.
func Kept(string) (int64, error) { return 0, unsupported("read the receipt") }

// Look says what a tree has at a path.
func Look(*os.File, string) (*forkbox.Identity, error) { return nil, unsupported("land the changes") }

// FindStrays lists staging directories. There are none on this system.
func FindStrays(*os.File, string) []string { return nil }

// LookStray says what a staging directory holds.
func LookStray(*os.File, string, forkbox.Owner) (Stray, error) {
	return Stray{}, unsupported(opFind)
}

// RestoreStray takes back what a landing did whose own directory is lost.
func RestoreStray(*os.File, string, forkbox.Owner) (Stray, []forkbox.Caution, error) {
	return Stray{}, nil, unsupported(opRestore)
}

// DeleteStray removes a staging directory.
func DeleteStray(*os.File, string, forkbox.Owner) (Stray, error) {
	return Stray{}, unsupported(opDelete)
}

// Rights say where something could be put.
type Rights struct{}

// NewRights are those of an owner.
func NewRights(*os.File, *forkbox.Owner) (*Rights, error) {
	return nil, unsupported("land the changes")
}

// Close ends them.
func (*Rights) Close() {}

// MayChange says whether something may be put into a directory.
func (*Rights) MayChange(string) bool { return false }
