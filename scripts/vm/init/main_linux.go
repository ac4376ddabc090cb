// Command init is the first process of a test machine: it gets the machine
// up, runs what the plan lists and powers off.
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// workArg as the first argument asks for the runs. They have a process of
// their own because the first process reaps every orphan, and would take the
// exit status of the runs from the code that waits for them.
const workArg = "work"

func main() {
	if len(os.Args) > 1 && os.Args[1] == workArg {
		work()
		return
	}
	if err := boot(); err != nil {
		fmt.Println("init:", err) // on the console: there is nothing else yet
	}
	unix.Sync()
	// A machine started with -no-reboot ends here.
	unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
}

func boot() error {
	if err := enterRoot(); err != nil {
		return err
	}
	worker, err := os.StartProcess(plan.Init, []string{plan.Init, workArg}, &os.ProcAttr{
		Env:   []string{"PATH=" + path},
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return err
	}
	return reapUntil(worker.Pid)
}

// reapUntil waits for all orphans until pid is among them.
func reapUntil(pid int) error {
	for {
		got, err := unix.Wait4(-1, nil, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || got == pid {
			return err
		}
	}
}
