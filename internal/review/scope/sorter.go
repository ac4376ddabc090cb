// Package scope says who cares about a change: is it work that the owner asked
// for, a change of the machine, or noise. It also names what deserves a second
// look before it lands, and what package managers did.
//
// The package is pure: what it must know of reality it reads through functions
// given to it.
//
// When in doubt a change is shown. An ignore file that cannot be read, is too
// large or is malformed hides nothing, and a box cannot hide what it did to
// files that existed: its own ignore files count only for what it added.
package scope

import (
	"path"
	"slices"

	"github.com/forkbox/forkbox"
)

const (
	// learnedMax bounds the ignore files of a box that are kept at a time,
	// and learnedSize each of them: a box must not fill the memory. What is
	// beyond is not learned, so that more is shown.
	learnedMax  = 4096
	learnedSize = 64 << 10
)

// Sorter sorts the changes of one box. It is for one pass over them: they come
// in path order (a directory, all below it, then its next sibling). In another
// order it is right but slow, except that it forgets what it learned about
// directories that it has left.
type Sorter struct {
	root    string
	home    string
	read    func(path string) ([]byte, error)
	gitDirs []string // those of a linked work tree, which lie elsewhere
	here    ignores  // for where changes are
	there   ignores  // for where renamed paths were: another order
	learned map[string][]rule
	fresh   string // a directory that the box made: reality has nothing in it
}

// New makes a Sorter for the workspace root ("" for none) of a person whose
// home is given. read reads a small file of reality, with that person's rights
// and without following a symlink; what it cannot read counts as absent.
//
// Rules, weakest first: ~/.config/git/ignore, .git/info/exclude,
// ~/.config/forkbox/ignore, then from the root downwards the .gitignore of a
// directory and its .forkboxignore. In a workspace that is no git repository,
// the leftovers of editors and interpreters come before all of these.
func New(root, home string, read func(path string) ([]byte, error)) *Sorter {
	s := &Sorter{root: root, home: cleanHome(home), read: read, learned: map[string][]rule{}}
	if root == "" {
		return s
	}
	global := s.globalRules()
	s.here = ignores{root: root, global: global, load: s.load, left: s.unlearn}
	s.there = ignores{root: root, global: global, load: s.loadReal, left: func(string) {}}
	return s
}

// Learn tells of an ignore file that the box added or changed. For paths that
// the box added it counts in place of reality's file, and for no others: a box
// must not be able to hide edits of files that existed. It counts for what is
// asked about from now on, so learn the files of a directory before asking
// about the first change in it.
func (s *Sorter) Learn(file string, content []byte) {
	dir := path.Dir(file)
	if !s.inside(dir) || !slices.Contains(ignoreNames[:], path.Base(file)) {
		return
	}
	if _, known := s.learned[file]; !known && len(s.learned) >= learnedMax || len(content) > learnedSize {
		return
	}
	s.learned[file] = parseRules(content)
	s.here.forget(dir)
}

func (s *Sorter) unlearn(dir string) {
	if len(s.learned) == 0 {
		return
	}
	for _, name := range ignoreNames {
		delete(s.learned, dir+"/"+name)
	}
}

// load reads the rules of a directory, as both views have them.
func (s *Sorter) load(dir string) [views][]rule {
	if s.fresh != "" && forkbox.Within(dir, s.fresh) {
		return [views][]rule{boxed: s.withLearned(dir, [len(ignoreNames)][]rule{})}
	}
	files := s.files(dir)
	return [views][]rule{real: slices.Concat(files[:]...), boxed: s.withLearned(dir, files)}
}

// loadReal is load for where nothing learned counts.
func (s *Sorter) loadReal(dir string) [views][]rule {
	files := s.files(dir)
	return [views][]rule{real: slices.Concat(files[:]...)}
}

// files reads the ignore files that reality has in dir.
func (s *Sorter) files(dir string) (files [len(ignoreNames)][]rule) {
	for i, name := range ignoreNames {
		files[i] = s.rules(dir + "/" + name)
	}
	return files
}

// withLearned puts the box's ignore files in the place of reality's.
func (s *Sorter) withLearned(dir string, files [len(ignoreNames)][]rule) []rule {
	if len(s.learned) > 0 {
		for i, name := range ignoreNames {
			if learned, ok := s.learned[dir+"/"+name]; ok {
				files[i] = learned
			}
		}
	}
	return slices.Concat(files[:]...)
}

// rules are those of one file of reality.
func (s *Sorter) rules(file string) []rule {
	content, err := s.read(file)
	if err != nil {
		return nil
	}
	return parseRules(content)
}

// inside says whether p is the root or lies below it.
func (s *Sorter) inside(p string) bool { return s.root != "" && forkbox.Within(p, s.root) }

// Root finds the workspace of a box made in dir: the git work tree that dir
// lies in, which is the nearest directory upwards with something named .git in
// it, else dir itself. It is "" for "/": a box made there has no workspace.
// "/" is never a work tree either, or all of the machine would be workspace.
func Root(dir string, exists func(path string) bool) string {
	dir = path.Clean(dir)
	if !path.IsAbs(dir) || dir == "/" {
		return ""
	}
	for at := dir; at != "/"; at = path.Dir(at) {
		if exists(at + "/.git") {
			return at
		}
	}
	return dir
}
