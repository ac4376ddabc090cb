// Package vault keeps the secrets of a host's users, encrypted, in files.
//
//	DIR/key          32 random bytes, made once
//	DIR/lock         held while something is written
//	DIR/UID/NAME     one secret of one user
//
// A secret's file is "forkbox-secret-1\n", a nonce, and AES-256-GCM of what the
// secret is bound to and its value. The owner's uid and the secret's name are
// authenticated along: a file that was moved to another user or another name
// does not open, and neither does one whose hosts somebody rewrote. Going back to
// an older file of the same secret is not noticed; who can do that can also read
// the key.
//
// Every file is written beside its place, synced and renamed, so that a crash
// leaves the old value or the new one. What cannot be opened is never
// overwritten: with the right key it may be worth something.
//
// # Why a file and not the keyring of the operating system
//
// The gate needs secrets while nobody is logged in: the daemon of a server has no
// session, no D-Bus and nobody who could unlock a keyring, and the kernel's own
// keyrings forget at a reboot. The key is therefore a file that only the daemon's
// user can read, as the keys of ssh and TLS servers are. It protects copies of
// the secrets' files (a backup, a synced directory) that lack the key; it does not
// protect from who can read files as the daemon's user. A desktop's keyring would
// add that the secrets are shut until somebody logs in, and that a copy of the
// whole directory is worth nothing.
package vault
