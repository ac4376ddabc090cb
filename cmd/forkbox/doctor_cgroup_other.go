//go:build !linux

package main

import "github.com/forkbox/forkbox"

// controlGroups are Linux's.
func controlGroups() []forkbox.Check { return nil }
