// Package copying takes the data of running services as it is at one moment.
//
// Files that a database writes to cannot be copied one after the other: what is
// copied last is younger than what was copied first, and the copy is one that
// never was. A copy of one moment, on the other hand, is what a crash would have
// left, and that a database is made to start from. There are five ways to it,
// best first:
//
//   - snapshot: have the filesystem keep the subvolume that has the data as it is.
//     It takes btrfs, and a copy that lies on the same one. Only who may not
//     survive a power failure is stopped for it.
//   - reflink: stop the service, share the blocks of each file, let it go on.
//     It takes a filesystem that shares, and a copy that lies on the same one.
//   - online: have the engine write the copy. Nobody stops.
//   - delta: copy all while it is written to; copy what changed meanwhile; when
//     little is left, stop the service and bring the copy up to date.
//   - plain: copy. For what does not run.
//
// A service of reality is never stopped longer than its owner allowed. So it is
// not this process that stops it, which may be killed, or wait for a disk: a
// helper does ([RunHolder]), which lets all go on when it is told to, at the
// deadline, or when this process is gone. If the copy is not done by then, there
// is none.
package copying
