package client

import (
	"os"

	"golang.org/x/sys/windows"
)

// canHandOver says whether this system's sockets carry files.
const canHandOver = false

// duplicate is a file of its own that reads and writes the same.
func duplicate(f *os.File) (*os.File, error) {
	self := windows.CurrentProcess()
	var own windows.Handle
	err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &own, 0, false, windows.DUPLICATE_SAME_ACCESS)
	if err != nil {
		return nil, os.NewSyscallError("DuplicateHandle", err)
	}
	return os.NewFile(uintptr(own), f.Name()), nil
}
