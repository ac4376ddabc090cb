package cli

import (
	"strings"

	"github.com/forkbox/forkbox/internal/cli/access"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/box"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/config"
	"github.com/forkbox/forkbox/internal/cli/exec"
	"github.com/forkbox/forkbox/internal/cli/file"
	"github.com/forkbox/forkbox/internal/cli/limits"
	"github.com/forkbox/forkbox/internal/cli/network"
	"github.com/forkbox/forkbox/internal/cli/race"
	"github.com/forkbox/forkbox/internal/cli/service"
	"github.com/forkbox/forkbox/internal/cli/snapshot"
	"github.com/forkbox/forkbox/internal/cli/store"
	"github.com/spf13/cobra"
)

// verb is one that the command line has, and how it is made.
type verb struct {
	name string
	make func(*app.App) *cobra.Command
}

// verbGroup is a group of `forkbox help`.
type verbGroup struct {
	group string
	list  []verb
}

// verbs are all of them, by their groups.
func verbs() []verbGroup {
	return []verbGroup{
		{groupStart, []verb{{"run", exec.RunVerb}, {"new", box.NewVerb}, {"shell", exec.ShellVerb}, {"exec", exec.ExecVerb}, {"race", race.Verb}}},
		{groupLook, []verb{
			{"ls", box.LsVerb}, {"show", box.ShowVerb}, {"diff", change.DiffVerb}, {"status", change.StatusVerb}, {"ps", exec.PsVerb}, {"logs", exec.LogsVerb},
			{"files", file.FilesVerb}, {"cp", file.CpVerb}, {"execs", exec.ExecsVerb}, {"attach", exec.AttachVerb}, {"stats", limits.StatsVerb}, {"top", limits.TopVerb}, {"events", limits.EventsVerb},
		}},
		{groupNet, []verb{{"net", network.NetVerb}, {"port", network.PortVerb}, {"open", network.OpenVerb}, {"wait", network.WaitVerb}, {"secret", network.SecretVerb}}},
		{groupLand, []verb{{"apply", change.ApplyVerb}, {"undo", change.UndoVerb}, {"receipts", change.ReceiptsVerb}, {"sync", change.SyncVerb}, {"discard", change.DiscardVerb}}},
		{groupSave, []verb{
			{"snapshot", snapshot.SnapshotVerb}, {"snapshots", snapshot.SnapshotsVerb}, {"rollback", snapshot.RollbackVerb}, {"fork", snapshot.ForkVerb}, {"tree", snapshot.TreeVerb},
			{"template", snapshot.TemplateVerb}, {"export", snapshot.ExportVerb}, {"import", snapshot.ImportVerb}, {"push", snapshot.PushVerb}, {"pull", snapshot.PullVerb},
		}},
		{groupManage, []verb{
			{"start", box.StartVerb}, {"stop", box.StopVerb}, {"pause", box.PauseVerb}, {"resume", box.ResumeVerb}, {"kill", exec.KillVerb}, {"set", limits.SetVerb},
			{"extend", limits.ExtendVerb}, {"rm", box.RmVerb}, {"keep", box.KeepVerb}, {"gc", store.GCVerb}, {"du", store.DuVerb},
		}},
		{groupMachine, []verb{
			{"doctor", store.DoctorVerb}, {"config", config.Verb}, {"repair", store.RepairVerb}, {"store", store.StoreVerb}, {"queue", limits.QueueVerb}, {"services", service.ServicesVerb}, {"serve", serveVerb},
			{"context", access.ContextVerb}, {"token", access.TokenVerb}, {"audit", access.AuditVerb}, {"listeners", access.ListenersVerb}, {"version", versionVerb},
			{"completion", completionVerb}, {"man", manVerb},
		}},
	}
}

// addVerbs makes the one verb that the command line names, and all of them
// where it names none that is alone: to make all takes a millisecond, which
// every command would pay for.
func addVerbs(a *app.App, root *cobra.Command) {
	wanted := onlyVerb(a.Args)
	for _, group := range verbs() {
		for _, v := range group.list {
			if wanted != "" && wanted != v.name {
				continue
			}
			made := v.make(a)
			made.GroupID = group.group
			made.DisableFlagsInUseLine = true
			root.AddCommand(made)
		}
	}
}

// onlyVerb is the verb that nothing beside it is needed for; empty is all. The
// manual and completion are about all of them, and so is what is not known.
func onlyVerb(args []string) string {
	if len(args) == 0 {
		return ""
	}
	for i, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") || args[i] == "--host" { // the one of the root's that takes a value
			continue
		}
		if arg == "completion" || arg == "man" || !hasVerb(arg) {
			return ""
		}
		return arg
	}
	return ""
}

func hasVerb(name string) bool {
	for _, group := range verbs() {
		for _, v := range group.list {
			if v.name == name {
				return true
			}
		}
	}
	return false
}
