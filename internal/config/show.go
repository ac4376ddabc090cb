package config

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Show is every key that has a value, with who said it, in the order of the
// manual.
func (l *Loaded) Show() []api.Setting { return l.ShowFrom(l) }

// ShowFrom is [Loaded.Show] of a daemon that started with another configuration:
// keys that are not live have the value of then, and say which is next.
func (l *Loaded) ShowFrom(started *Loaded) []api.Setting {
	waiting := map[*Key]bool{}
	for _, k := range l.Changed(started) {
		waiting[k] = !k.Live
	}
	list := []api.Setting{}
	for _, k := range Keys() {
		for _, user := range l.namesOf(k) {
			s := l.setting(k, user)
			if waiting[k] {
				next := s.Value
				s = started.setting(k, user)
				s.Next = &next
			}
			if s.Value != "" || s.Next != nil || s.Origin != string(FromDefault) && k.Kind.Schema != nil {
				list = append(list, s)
			}
		}
	}
	return list
}

// IsOf says whether a key of the form users.NAME… is about a user.
func IsOf(key string, who forkbox.Owner) bool {
	for _, name := range []string{"*", strconv.Itoa(who.UID), who.Name} {
		if strings.HasPrefix(key, "users."+quoteName(name)+".") {
			return true
		}
	}
	return false
}

// namesOf are what stands for NAME in a key: those that sources have.
func (l *Loaded) namesOf(k *Key) []string {
	if !strings.Contains(k.Name, anyName) {
		return []string{""}
	}
	var names []string
	for _, v := range l.values {
		if v.key == k && !slices.Contains(names, v.user) {
			names = append(names, v.user)
		}
	}
	return names
}

func (l *Loaded) setting(k *Key, user string) api.Setting {
	s := api.Setting{Key: k.named(quoteName(user)), File: string(k.Of), Value: k.get(&l.Settings, user), Said: api.Said{Origin: string(FromDefault)}, Live: k.Live}
	above := true
	for _, v := range slices.Backward(l.values) {
		switch {
		case v.key != k || v.user != user:
		case above:
			s.Said, above = v.who(), false
		default:
			s.Below = append(s.Below, api.Below{Value: v.text, Said: v.who(), Binds: k.Binds && v.origin == FromSystem})
		}
	}
	return s
}

func (v value) who() api.Said {
	return api.Said{Origin: string(v.origin), From: v.from, Line: v.line}
}

// Files are those that are looked for, and whether they are there.
func (l *Loaded) Files(o Options) []api.ConfigFile {
	list := []api.ConfigFile{}
	for _, s := range o.Sources() {
		list = append(list, api.ConfigFile{Path: s.Path, Origin: string(s.Origin), Found: slices.Contains(l.Sources, s)})
	}
	return list
}

// Changed are the keys that differ between two configurations, with their names
// filled in.
func (l *Loaded) Changed(from *Loaded) (keys []*Key) {
	for _, k := range Keys() {
		text := func(of *Loaded) (all string) {
			for _, user := range of.namesOf(k) {
				s := of.setting(k, user)
				all += s.Key + "=" + s.Value + "\n"
				for _, b := range s.Below {
					all += b.Value + "\n"
				}
			}
			return all
		}
		if text(l) != text(from) {
			keys = append(keys, k)
		}
	}
	return keys
}

// Paths are the files that count for a caller, in the order in which they are
// read: the daemon's, and the project's around a directory if there is one.
func Paths(o Options, dir string) []api.ConfigFile {
	sources := o.Sources()
	if project, ok := ProjectSource(dir); ok {
		sources = append(sources, project)
	}
	var list []api.ConfigFile
	for _, s := range sources {
		_, err := os.Stat(s.Path)
		list = append(list, api.ConfigFile{Path: s.Path, Origin: string(s.Origin), Found: err == nil})
	}
	return list
}

// UnmeasuredNote says that a pressure which admission counts on does not count.
func UnmeasuredNote(what string) string {
	return "admission.pressure." + what + " does not count: this kernel does not measure the pressure on " + what
}
