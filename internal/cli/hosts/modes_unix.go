//go:build !windows

package hosts

const keepsModes = true
