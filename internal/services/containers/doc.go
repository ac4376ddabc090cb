// Package containers knows the containers of this machine that are services, by
// asking the engine that runs them: docker, podman, and what speaks as they do.
//
// An engine's socket is worth what root is, so it is asked only on behalf of a
// caller who could ask it without us ([Find]). What an engine says is believed as
// far as its own rights go: one that another user runs may say what it likes, and
// is listed, but nothing that it names is opened.
//
// A copy of a container ([PlanOf]) has three parts: its root filesystem, its
// volumes, and how it is started, which [contained] does in the box. The engine
// is not asked to pause it: an engine that was asked to pause and then is not
// there any more leaves a paused container behind. It is stopped for a moment as
// other services are, by a helper that lets it go on whatever happens.
package containers
