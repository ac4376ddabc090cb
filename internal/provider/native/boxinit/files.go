//go:build linux

package boxinit

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles/agent"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/wire"
)

// agentArg is the argument that makes this binary the box's file agent.
const agentArg = "files"

// FilesArgs is who the agent is to be. With it come its control socket, and the files
// to write to by which it enters its cgroup.
type FilesArgs struct {
	Owner forkbox.Owner `json:"owner"`
}

// openProgram keeps this program at hand. It is done while init is alone: later
// root in the box decides what the path leads to.
func (p *pid1) openProgram() {
	fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		p.program = os.NewFile(uintptr(fd), "program")
	}
}

// startAgent starts a process that reads and writes files for the daemon, with
// the rights of the box's owner. It is no exec: it has no output and no record,
// and it is not counted among what runs in the box. It ends with its control
// socket.
func (p *pid1) startAgent(args *FilesArgs, files []*os.File) error {
	defer wire.CloseAll(files...)
	const op = "reach the box's files"
	if args == nil || len(files) == 0 || p.program == nil {
		return forkbox.Errorf(forkbox.Unsupported, op, "its init cannot start what reads and writes them")
	}
	who, err := identify("", args.Owner, p.config.Rootless)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	born, err := p.forkAgent(files, null, who)
	if err != nil {
		return err
	}
	_, err = born.Wait(spawnLimit)
	p.score.begun()
	if err != nil {
		_ = syscall.Kill(born.PID, syscall.SIGKILL)
		return forkbox.Errorf(forkbox.Busy, op, "%w", err)
	}
	return nil
}

// forkAgent takes the lock, so that an agent that ends at once is already known.
func (p *pid1) forkAgent(files []*os.File, null *os.File, who *syscall.Credential) (*linux.Child, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stamps++
	p.score.begins()
	born, err := p.agentScript(files, null, who, p.stamps).Fork(0)
	if err != nil {
		p.score.begun()
		return nil, err
	}
	unix.Close(born.PIDFD)
	select {
	case p.spawned <- struct{}{}:
	default:
	}
	p.agents[born.PID] = true
	return born, nil
}

func (p *pid1) agentScript(files []*os.File, null *os.File, who *syscall.Credential, stamp uint64) *linux.Script {
	b := linux.NewScript()
	for _, f := range files[1:] {
		b.Enter(int(f.Fd()))
	}
	b.Session()
	b.Expendable(expendable)
	b.Stamp(stamp)
	if who != nil {
		b.Become(who.Uid, who.Gid, who.Groups)
	}
	b.Chdir("/")
	n := int(null.Fd())
	b.Place(map[int]int{0: n, 1: n, 2: n, agent.ControlFD: int(files[0].Fd())}, forkbox.MaxFD+1)
	b.OpenFiles(unix.Rlimit{Cur: p.config.Files, Max: p.config.MaxFiles})
	b.Exec(int(p.program.Fd()), []string{InitName, agentArg}, agentEnv)
	return b
}

// agentEnv keeps an agent small: it counts against the box's limits.
var agentEnv = []string{"GOMAXPROCS=2", "GOGC=50"}

// isAgent says whether a process is one of init's own.
func (p *pid1) isAgent(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agents[pid]
}
