// Package elsewhere knows of processes that have another root directory than this
// one, those of containers and boxes, and by which names this machine has the
// files that they name.
package elsewhere
