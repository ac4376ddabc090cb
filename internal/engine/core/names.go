package core

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"

	"github.com/forkbox/forkbox"
)

const (
	hexDigits = "0123456789abcdef"
	nameBytes = "abcdefghijklmnopqrstuvwxyz0123456789-"
)

// ValidName: a name is also the box's hostname.
func ValidName(name string) bool {
	return name != "" && len(name) <= 63 && name[0] != '-' && strings.Trim(name, nameBytes) == ""
}

func likeAnID(name string) bool {
	return len(name) >= 12 && strings.Trim(name, hexDigits) == ""
}

// CheckName refuses what a box cannot be called.
func CheckName(name string) error {
	const op = "name box"
	switch {
	case !ValidName(name):
		return forkbox.Errorf(forkbox.Invalid, op, "%q is not a name that a host can have", name).
			Hint("use up to 63 lower-case letters, digits and dashes, not a dash first")
	case likeAnID(name):
		return forkbox.Errorf(forkbox.Invalid, op, "%q looks like the id of a box", name).
			Hint("use a letter after f, or fewer than 12 characters")
	case name == forkbox.Reality:
		return forkbox.Errorf(forkbox.Invalid, op, "%q is what boxes are forked from", name).
			Hint("choose another name")
	}
	return nil
}

// NewID is random, so that an id is never used twice, also not after a box
// and all memory of it are gone.
func NewID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// FriendlyName is a name for the given attempt. The words alone do for some
// hundred boxes; where they collide again and again, a number helps.
func FriendlyName(attempt int) string {
	name := pick(adjectives) + "-" + pick(animals)
	if attempt >= 3 {
		name += fmt.Sprintf("-%d", mathrand.IntN(10_000))
	}
	return name
}

func pick(list string) string {
	words := strings.Fields(list)
	return words[mathrand.IntN(len(words))]
}

// Plain strings, not slices: every start of the program would pay for those.
const (
	adjectives = `
		able agile amber ample ardent azure balmy bold brave breezy bright brisk
		calm candid cheery civil clear clever cosy crisp curious daring deft dewy
		eager early easy fair fancy fine fleet fond frank free fresh gentle glad
		golden good grand happy hardy hearty honest humble jolly keen kind lively
		loyal lucid lucky mellow merry mighty mild modest neat nimble noble olive
		open patient placid plucky polite proud quick quiet rapid ready rosy royal
		sage serene sharp shiny silver sleek smart smooth snug solid spry steady
		still stout sunny swift tender tidy true trusty upbeat vivid warm wise witty`
	animals = `
		alpaca badger bat bear beaver bee bison bobcat buck bunny camel cat cheetah
		cobra condor coral crab crane cricket crow deer dingo dolphin dove dragon
		duck eagle egret elk emu falcon ferret finch fox frog gecko gibbon goose
		gopher grouse gull hare hawk hedgehog heron hippo horse husky ibex ibis
		jackal jaguar jay kestrel kiwi koala lark lemur leopard lion lizard llama
		lynx magpie mantis marten mole moose moth mouse newt ocelot octopus orca
		oriole osprey otter owl panda panther parrot pelican penguin pigeon pony
		puffin puma quail rabbit raccoon raven robin salmon seal shark shrew skunk
		sloth snail sparrow squid stork swan tapir tern tiger toad trout turtle
		viper walrus weasel whale wolf wombat wren yak zebra`
)

// NameBox has the hints of an error name the box that it is about: what knows
// nothing of boxes writes BOX. In hints about any box the word stays.
func NameBox(err error, name string) error {
	var e *forkbox.Error
	if !errors.As(err, &e) {
		return err
	}
	for i, hint := range e.Hints {
		for _, verb := range []string{"apply", "exec", "set", "wait"} {
			hint = strings.ReplaceAll(hint, "forkbox "+verb+" BOX ", "forkbox "+verb+" "+name+" ")
		}
		e.Hints[i] = hint
	}
	return err
}
