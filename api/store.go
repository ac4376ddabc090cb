package api

import "github.com/forkbox/forkbox"

// Store is where boxes are kept.
type Store struct {
	// Dir is the directory that they lie in, and Driver how layers are kept
	// there: "overlay", "btrfs", "reflink", "copy".
	Dir    string `json:"dir"`
	Driver string `json:"driver"`
	// Disk and Inodes are how the limits of those names are held in it.
	Disk   forkbox.Holding `json:"disk"`
	Inodes forkbox.Holding `json:"inodes"`
	// HostFree is what the filesystem has left that all of it lies on.
	HostFree int64 `json:"host_free_bytes"`
	Pool     *Pool `json:"pool,omitempty"` // nil where there is none
}

// Pool is a file with a filesystem of its own, in which boxes are kept.
type Pool struct {
	File      string `json:"file"`
	Size      int64  `json:"size_bytes"` // the most that it holds
	Used      int64  `json:"used_bytes"`
	Free      int64  `json:"free_bytes"`
	Allocated int64  `json:"allocated_bytes"` // what the file takes on the host
	// Simple says that its quotas are of the cheap kind.
	Simple bool `json:"simple_quotas"`
}

// StoreRequest is how large a pool is to be.
type StoreRequest struct {
	Size int64 `json:"size_bytes"`
}
