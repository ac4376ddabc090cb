//go:build !linux

package ledger

import "os"

// What keeps room on a full disk is for the systems that boxes run on.

func setAside(string, int64) {}

func writeInPlace(*os.File) {}

func settle(string) {}

func roomAt(string) int64 { return 1 << 62 }
