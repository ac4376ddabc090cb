package providertest

import (
	"encoding/hex"
	"fmt"
	"os"
	"syscall"
)

// setxattr sets an extended attribute: path, name, and the value in
// hexadecimal.
func setxattr(args []string) int {
	value, err := hex.DecodeString(args[2])
	if err == nil {
		err = syscall.Setxattr(args[0], args[1], value, 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
