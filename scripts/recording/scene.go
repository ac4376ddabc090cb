package main

import "regexp"

// step is a command of the scene, with what a viewer is told before it.
type step struct {
	say     string
	command string
	// only, where set, is which lines of its output are shown; the others
	// differ from run to run, and "…" stands for them.
	only *regexp.Regexp
}

// files are what the home directory has when the scene begins.
var files = map[string]string{
	"photos/cat.jpg": "meow",
	"shop/greeting":  "Hello, World\n",
	"shop/fruit":     "pear\napple\npear\nfig\n",
	"shop/check.sh":  "sort -cu fruit && grep -q pear fruit\n",
}

// The scene plays in the directory shop of the home directory.
var scene = []step{
	{
		say:     "A clone of this machine, and the worst that can happen to it.",
		command: `forkbox run --name oops -- sh -c 'rm -rf ~/*'`,
	},
	{command: `ls ~`},
	{
		say:     "Something useful this time: review it, land it, take it back.",
		command: `forkbox run --name moon -- sed -i s/World/Moon/ greeting`,
	},
	{command: `forkbox apply moon && cat greeting`},
	{command: `forkbox undo && cat greeting`},
	{
		say: "Three ideas at once, each on a clone of its own, and one check.",
		command: `forkbox race --name fruit --try 'a=sort -o fruit fruit' --try 'b=truncate -s 0 fruit' ` +
			`--try 'c=sort -u -o fruit fruit' --check 'sh check.sh' --apply`,
		only: regexp.MustCompile(` wins: |^landed`),
	},
	{command: `cat fruit`},
}
