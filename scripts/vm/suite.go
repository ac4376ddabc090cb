package main

import (
	"time"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// suite is what the machine runs, in this order. Of what the whole program does
// it is what differs by the version of cgroups: emulated, all of it would take
// an hour.
var suite = []job{
	{name: "cgroup as root", pkg: "./internal/cgroup", place: plan.Service},
	{name: "cgroup as user", pkg: "./internal/cgroup", place: plan.Delegated},
	{name: "quota", pkg: "./internal/storage/quota", place: plan.Service, env: projectQuotas},
	{name: "layers", pkg: "./internal/storage/layers", tests: "Quota", place: plan.Service, env: projectQuotas},
	{name: "limits as root", pkg: "./cmd/forkbox", tests: "^TestLimits(MemoryOfExec|ForkBomb|SetPids|PausedStops)$", place: plan.Service},
	{name: "limits as user", pkg: "./cmd/forkbox", tests: "^TestLimits(MemoryOfExec|ForkBomb)$", place: plan.Delegated},
	{name: "sandboxes as root", pkg: "./internal/provider/native", tests: sandboxes, place: plan.Service},
	{name: "sandboxes as user", pkg: "./internal/provider/native", tests: sandboxes, place: plan.Delegated},
	{name: "leftovers", script: "scripts/leftovers", place: plan.Service},
}

// sandboxes are the tests of what a box may make of namespaces: cgroup namespaces
// it may have in version 2 only.
const sandboxes = "^Test(SandboxesInABox|DeviationsAreOfThisHost|Promise8CgroupNamespacesReachNothing)$"

// job is the tests of a package, or a script.
type job struct {
	name   string
	pkg    string
	tests  string // a regexp; without one all of them
	script string // instead of pkg
	place  plan.Place
	env    []string
}

// jobLimit is for one job. On two busy processors the slowest took three minutes.
const jobLimit = 6 * time.Minute

// projectQuotas tells the tests of quotas where project quotas are on.
var projectQuotas = []string{"FORKBOX_TEST_PRJQUOTA_DIRS=/quota/ext4:/quota/xfs"}

// disks are the machine's, beside the one with its root. The sizes are in
// MiB, of sparse files; xfs refuses to be smaller.
var disks = []disk{
	{size: 512, make: []string{"mke2fs", "-q", "-F", "-t", "ext4", "-O", "project,quota", "-E", "quotatype=prjquota"},
		as: plan.Disk{Dir: "/quota/ext4", Type: "ext4", Options: "prjquota"}},
	{size: 512, make: []string{"mkfs.xfs", "-q", "-f"},
		as: plan.Disk{Dir: "/quota/xfs", Type: "xfs", Options: "prjquota"}},
	{size: 256, make: []string{"mkswap", "-q"}},
}

// packages are the distribution's whose programs the machine has, as they are
// installed here: what the tests, or the programs under test, call.
var packages = []string{
	"bash", "btrfs-progs", "bubblewrap", "coreutils", "dash", "e2fsprogs", "findutils", "grep", "iproute2", "kmod", "mount", "procps",
	"sed", "tar", "util-linux", "xfsprogs",
}

// drivers are the modules that the kernel needs to reach the root disk and to
// talk to us. All others are loaded on demand.
var drivers = []string{"virtio_pci", "virtio_blk", "virtio_console"}
