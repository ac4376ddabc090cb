package main

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the kernel end the emulator however this program ends.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
