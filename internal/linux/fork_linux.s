// Present so that fork_linux.go may declare functions without bodies.
