package cgroup

import "os"

// Entry is what a process needs to be born in a group or to enter it. The
// files are open, so that they can be given to a process that does not see
// this filesystem, and writing "0" to them moves who writes.
type Entry struct {
	// Dir is version 2's directory of the group, for a clone that is born in
	// it. It is nil in version 1.
	Dir *os.File
	// Tasks are version 1's files, one of each hierarchy: a thread that writes
	// "0" to each of them moves alone, and its children are born there.
	Tasks []*os.File
	// Procs is version 2's file, by which a whole process moves.
	Procs *os.File
}

// Enter moves the calling thread (version 1), which the caller has locked, or
// the whole process (version 2) into the group.
func (e *Entry) Enter() error {
	for _, f := range e.Tasks {
		if err := writeTo(int(f.Fd()), f.Name(), "0"); err != nil {
			return err
		}
	}
	if e.Procs == nil {
		return nil
	}
	return writeTo(int(e.Procs.Fd()), e.Procs.Name(), "0")
}

// Close closes the files.
func (e *Entry) Close() {
	for _, f := range append([]*os.File{e.Dir, e.Procs}, e.Tasks...) {
		if f != nil {
			f.Close()
		}
	}
}
