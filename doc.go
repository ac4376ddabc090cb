// Package forkbox is the domain of forkbox: the words everything else is
// written in. It imports only the standard library.
//
//	reality    the real machine: files, packages, configuration, environment, services
//	box        a fork of reality (later also: of a box, a snapshot, an image)
//	base       what a box was forked from, with the moment it was forked: the fence
//	layer      a set of changed files; a box writes to its top layer
//	change     one path's difference between a box and its base
//	exec       a command run in a box: it has output, an exit, a cause of death
//	provider   an isolation technology; "native" is namespaces and overlayfs
//	ledger     the durable record of boxes and execs
//
// The interfaces here ([Provider], [Instance], [Ledger]) are the seams of the
// program. Package providertest is the suite that every provider passes.
package forkbox
