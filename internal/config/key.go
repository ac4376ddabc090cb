package config

import (
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Of says which file a key is of.
type Of string

const (
	OfConfig  Of = "config.yaml"  // the daemon's: the host's and the user's
	OfProject Of = "forkbox.yaml" // a project's
)

// Key is a row of the table.
type Key struct {
	// Name has dots between its words. The word NAME stands for any.
	Name string
	Of   Of
	Doc  string // a sentence, without its full stop
	Kind Kind
	Env  string // the variable that stands above the files
	Flag string // the flag that stands above all, with its verb: "serve --idle"
	// Live says that a reload makes a new value hold. Others wait for the next
	// start of the daemon.
	Live bool
	// Binds says that what the host's file says holds also where the user's says
	// something else: the tighter of the two counts.
	Binds bool
	// Secret says that what is shown of the value is not all of it.
	Secret bool

	set func(*Settings, Place, *yaml.Node) error
	// get is the value as a file would have it, "" where there is none; name is
	// what stands for NAME.
	get func(s *Settings, name string) string
}

// Place is where a value was read: a file or a variable, and the key with its
// NAME filled in.
type Place struct {
	From string
	Key  []string
}

// anyName is the word of a key that stands for any other.
const anyName = "NAME"

// named is the key with a name in the place of NAME.
func (k *Key) named(name string) string { return strings.Replace(k.Name, anyName, name, 1) }

// Keys are all of them, in the order of the manual.
func Keys() []*Key { return table().keys }

// FindKey is the row of a key, nil if there is none.
func FindKey(of Of, name string) *Key {
	for _, k := range Keys() {
		if k.Of == of && k.Name == name {
			return k
		}
	}
	return nil
}

// level is a part of a file: what may be in a mapping, or a key.
type level struct {
	below map[string]*level
	names []string // of below, in the order of the table
	any   *level   // for names that users choose
	key   *Key
}

type tables struct {
	keys []*Key
	top  map[Of]*level
}

// table is made when it is first asked for.
var table = sync.OnceValue(func() tables {
	t := tables{keys: allKeys(), top: map[Of]*level{OfConfig: newLevel(), OfProject: newLevel()}}
	for _, k := range t.keys {
		at := t.top[k.Of]
		for word := range strings.SplitSeq(k.Name, ".") {
			at = at.down(word)
		}
		at.key = k
	}
	return t
})

func newLevel() *level { return &level{below: map[string]*level{}} }

func (l *level) down(word string) *level {
	if word == anyName {
		if l.any == nil {
			l.any = newLevel()
		}
		return l.any
	}
	if l.below[word] == nil {
		l.below[word] = newLevel()
		l.names = append(l.names, word)
	}
	return l.below[word]
}

// child is what a word of a file leads to, nil if to nothing.
func (l *level) child(word string) *level {
	if next := l.below[word]; next != nil {
		return next
	}
	return l.any
}
