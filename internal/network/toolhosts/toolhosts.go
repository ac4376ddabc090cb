// Package toolhosts finds the hosts that this machine's tools are configured
// to use: package registries, module proxies, mirrors, git remotes, HTTP
// proxies. The preset "balanced" allows them, so that installing a package in a
// box works as it does outside, whatever registry that is.
//
// It reads what the tools read and knows no host by itself: even a tool's
// built-in default is read from the tool's own files. It runs no program. What
// cannot be read is skipped: a host that is missing is refused with a remedy,
// and one that is there too much would be a hole.
//
// A file that comes with a project is not to be trusted as the user's own are:
// a repository that a user clones must not open their network. So hosts from
// there are allowed only where they are public.
package toolhosts

import (
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// Options say where to look.
type Options struct {
	Home string   // the user's
	Dir  string   // where they work; the directories above count as well
	Env  []string // as os.Environ has it
	Root string   // where the system's files are: "/", but for tests
}

// mostRules bounds what is found, so that a file cannot fill a policy.
const mostRules = 256

// Find says what a box may reach so that the tools in it work. The rules are in
// the order of the tools here, each once.
func Find(o Options) []forkbox.NetRule {
	if o.Root == "" {
		o.Root = "/"
	}
	f := &finder{Options: o, env: environment(o.Env), at: map[string]int{}, lists: map[string][]string{}}
	for _, tool := range []func(*finder){npm, yarn, golang, pip, apt, cargo, git, proxies} {
		tool(f)
	}
	return f.rules
}

type finder struct {
	Options
	env   map[string]string
	rules []forkbox.NetRule
	at    map[string]int      // in rules, by host and port
	lists map[string][]string // what is in directories that were read
}

// source is where a host is named.
type source struct {
	tool, where string
	// near says that the user or the system wrote it: the host may be one of
	// their own network.
	near bool
}

// add takes a host that a URL names, if it names one that can be reached.
func (f *finder) add(from source, url string) {
	host, ok := hostOf(url)
	if !ok || host.literal && !from.near {
		return // a project could mean an address of the user's network
	}
	rule := forkbox.NetRule{Rule: "allow " + host.text, From: "preset " + forkbox.PresetBalanced + ": " + from.tool + " (" + plain(from.where) + ")"}
	if from.near && !host.literal {
		rule.Rule += " private"
	}
	i, has := f.at[host.text]
	switch {
	case has && len(rule.Rule) > len(f.rules[i].Rule):
		f.rules[i] = rule // the user says the same of their own network
	case !has && len(f.rules) < mostRules:
		f.at[host.text] = len(f.rules)
		f.rules = append(f.rules, rule)
	}
}

// plain is a file's name in one line.
func plain(where string) string {
	if q := strconv.QuoteToGraphic(where); q[1:len(q)-1] != where {
		return q
	}
	return where
}

// environment is by name; what is empty counts as not set, as it does for the
// tools.
func environment(env []string) map[string]string {
	all := map[string]string{}
	for _, pair := range env {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" {
			all[name] = value
		}
	}
	return all
}

// either is a variable in small letters or in capitals.
func (f *finder) either(name string) (value, as string) {
	for _, as := range []string{name, strings.ToUpper(name)} {
		if v := f.env[as]; v != "" {
			return v, as
		}
	}
	return "", name
}

// proxies are those that the environment has all programs use.
func proxies(f *finder) {
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "ftp_proxy"} {
		value, as := f.either(name)
		f.addProxy(source{"proxy", as, true}, value)
	}
}

// addProxy takes a proxy, which is often written without a scheme.
func (f *finder) addProxy(from source, url string) {
	if url != "" && !strings.Contains(url, "://") {
		url = "http://" + url
	}
	f.add(from, url)
}
