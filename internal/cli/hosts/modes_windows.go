package hosts

// keepsModes: who may read a file is not in its mode there.
const keepsModes = false
