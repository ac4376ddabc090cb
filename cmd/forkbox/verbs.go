package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// verb is one that the command line has, and how it is made.
type verb struct {
	name string
	make func() *cobra.Command
}

// verbs are all of them, by the groups of `forkbox help`.
func (a *app) verbs() []struct {
	group string
	list  []verb
} {
	return []struct {
		group string
		list  []verb
	}{
		{groupStart, []verb{{"run", a.runVerb}, {"new", a.newVerb}, {"shell", a.shellVerb}, {"exec", a.execVerb}, {"race", a.raceVerb}}},
		{groupLook, []verb{
			{"ls", a.lsVerb}, {"show", a.showVerb}, {"diff", a.diffVerb}, {"status", a.statusVerb}, {"ps", a.psVerb}, {"logs", a.logsVerb},
			{"execs", a.execsVerb}, {"attach", a.attachVerb}, {"stats", a.statsVerb}, {"top", a.topVerb}, {"events", a.eventsVerb},
		}},
		{groupNet, []verb{{"net", a.netVerb}, {"port", a.portVerb}, {"open", a.openVerb}, {"wait", a.waitVerb}, {"secret", a.secretVerb}}},
		{groupLand, []verb{{"apply", a.applyVerb}, {"undo", a.undoVerb}, {"receipts", a.receiptsVerb}, {"sync", a.syncVerb}, {"discard", a.discardVerb}}},
		{groupSave, []verb{
			{"snapshot", a.snapshotVerb}, {"snapshots", a.snapshotsVerb}, {"rollback", a.rollbackVerb}, {"fork", a.forkVerb}, {"tree", a.treeVerb},
			{"template", a.templateVerb}, {"export", a.exportVerb}, {"import", a.importVerb}, {"push", a.pushVerb}, {"pull", a.pullVerb},
		}},
		{groupManage, []verb{
			{"start", a.startVerb}, {"stop", a.stopVerb}, {"pause", a.pauseVerb}, {"resume", a.resumeVerb}, {"kill", a.killVerb}, {"set", a.setVerb},
			{"extend", a.extendVerb}, {"rm", a.rmVerb}, {"keep", a.keepVerb}, {"gc", a.gcVerb}, {"du", a.duVerb},
		}},
		{groupMachine, []verb{
			{"doctor", a.doctorVerb}, {"repair", a.repairVerb}, {"store", a.storeVerb}, {"queue", a.queueVerb}, {"serve", a.serveVerb}, {"version", a.versionVerb},
			{"completion", a.completionVerb}, {"man", a.manVerb},
		}},
	}
}

// addVerbs makes the one verb that the command line names, and all of them
// where it names none that is alone: to make all takes a millisecond, which
// every command would pay for.
func (a *app) addVerbs(root *cobra.Command) {
	wanted := a.onlyVerb()
	for _, group := range a.verbs() {
		for _, v := range group.list {
			if wanted != "" && wanted != v.name {
				continue
			}
			made := v.make()
			made.GroupID = group.group
			made.DisableFlagsInUseLine = true
			root.AddCommand(made)
		}
	}
}

// onlyVerb is the verb that nothing beside it is needed for; empty is all. The
// manual and completion are about all of them, and so is what is not known.
func (a *app) onlyVerb() string {
	if len(a.args) == 0 {
		return ""
	}
	for _, arg := range a.args[1:] {
		if strings.HasPrefix(arg, "-") { // none of the root's takes a value
			continue
		}
		if arg == "completion" || arg == "man" || !a.hasVerb(arg) {
			return ""
		}
		return arg
	}
	return ""
}

func (a *app) hasVerb(name string) bool {
	for _, group := range a.verbs() {
		for _, v := range group.list {
			if v.name == name {
				return true
			}
		}
	}
	return false
}
