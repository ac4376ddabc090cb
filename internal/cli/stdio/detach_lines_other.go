//go:build !linux

package stdio

import "os"

// DetachableLines leaves the terminal as it is: no command runs on this system.
func DetachableLines(*os.File) (restore func()) { return func() {} }
