package git

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Git runs what a repository names: hooks, a file monitor, filters, drivers of
// diffs and merges, programs that sign, commands behind a transport. A box can
// have written any of these, or what they run. So git is run here with none of
// them, but for a commit whose caller said that hooks are wanted.

// neutral is the configuration that turns off what has one name. The last one
// has git take a repository that lies in a directory of any other name than
// .git for none.
var neutral = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false",
	"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "safe.bareRepository=explicit",
}

// neutralEnv is the same in the environment. No transport is allowed: git
// would go and fetch what a partial clone lacks.
var neutralEnv = []string{"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_EDITOR=:", "GIT_PAGER=cat"}

// settle is the command line of a neutral run.
func (r Repo) settle(ctx context.Context, c call) ([]string, error) {
	args := slices.Concat(neutral, c.flags)
	if looksAtFiles(c.args) {
		d, err := r.drivers(ctx)
		if err != nil {
			return nil, err
		}
		args = append(args, d.off(c.keepOwners)...)
	}
	return append(args, c.args...), nil
}

// looksAtFiles says whether a command may read the content of files in the work
// tree, and so have a filter alter it, or sign something.
func looksAtFiles(args []string) bool {
	switch args[0] {
	case "diff-index", "update-index", "commit", "reset", "status":
		return true
	case "cat-file":
		return slices.Contains(args, "--filters")
	}
	return false
}

// drivers are programs that have a name in the configuration: filters, and what
// signs. The value says whether the repository names it, and not only the user
// or the machine.
type drivers map[string]bool

// programs that sign, and what git does without the setting.
var signers = map[string]string{
	"gpg.program": "gpg", "gpg.openpgp.program": "gpg", "gpg.x509.program": "gpgsm",
	"gpg.ssh.program": "ssh-keygen", "gpg.ssh.defaultkeycommand": "",
}

// drivers asks git for them. That runs nothing.
func (r Repo) drivers(ctx context.Context) (drivers, error) {
	out, err := r.read(ctx, nil, "config", "-z", "--show-scope", "--name-only", "--get-regexp", `^(filter|gpg)\.`)
	var no *refusal
	if errors.As(err, &no) && no.code == 1 {
		return nil, nil // none is named
	}
	found := drivers{}
	list := records(out)
	for i := 0; i+1 < len(list); i += 2 {
		scope, key := list[i], list[i+1]
		if name, ok := filterOf(key); ok {
			key = "filter." + name
		}
		if strings.Contains(key, "=") {
			// -c ends the key at the first =, and the filter would run.
			return nil, &refusal{code: -1, words: "the configuration has a filter with = in its name, which git cannot be told to leave out: " + printable(key)}
		}
		found[key] = found[key] || scope == "local" || scope == "worktree"
	}
	return found, err
}

// filterOf is the name of the filter that a key sets something of. The name can
// have any bytes, dots too.
func filterOf(key string) (string, bool) {
	name, ok := strings.CutPrefix(key, "filter.")
	last := strings.LastIndexByte(name, '.')
	if !ok || last < 0 {
		return "", false
	}
	return name[:last], true
}

// off has git run none of them, or none but those of the user's own.
func (d drivers) off(keepOwners bool) (args []string) {
	for _, key := range slices.Sorted(maps.Keys(d)) {
		if keepOwners && !d[key] {
			continue
		}
		if strings.HasPrefix(key, "filter.") {
			args = append(args, "-c", key+".clean=", "-c", key+".smudge=", "-c", key+".process=", "-c", key+".required=false")
		} else if plain, ok := signers[key]; ok {
			args = append(args, "-c", key+"="+plain)
		}
	}
	return args
}

// refuseFiltered refuses a commit of files that a filter of the repository's would
// have altered on the way in: without it the commit would have other bytes.
func (r Repo) refuseFiltered(ctx context.Context, kept pathSet) error {
	d, err := r.drivers(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(d, func(key string, repos bool) bool { return !repos || !strings.HasPrefix(key, "filter.") })
	if len(d) == 0 {
		return nil
	}
	out, err := r.read(ctx, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(records(out), func(p string) bool { return !kept.hold(p) })
	if len(files) == 0 {
		return nil
	}
	out, err = r.read(ctx, terminated(files), "check-attr", "-z", "--stdin", "filter")
	attrs := records(out) // PATH, "filter", VALUE
	for i := 0; i+2 < len(attrs); i += 3 {
		if d["filter."+attrs[i+2]] {
			return forkbox.Errorf(forkbox.Unsupported, opCommit, "%s goes through the filter %q of this repository's configuration, which forkbox does not run by itself: it could be the box's", attrs[i], attrs[i+2]).
				Hint("look at `git config --show-origin --get-regexp filter`, then apply with --hooks; or apply without --commit, and commit yourself")
		}
	}
	return err
}

// pathSet is some paths with all that is below them.
type pathSet map[string]bool

func setOf(paths []string) pathSet {
	s := pathSet{}
	for _, p := range paths {
		s[p] = true
	}
	return s
}

func (s pathSet) hold(p string) (held bool) {
	above(p, func(dir string) { held = held || s[dir] })
	return held
}
