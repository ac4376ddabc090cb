package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// machine is one that is built and can be booted, once.
type machine struct {
	kernel, initrd string
	disks          []string
	log            string // what is said on the console
	runs           []plan.Run
}

// patience is for what the machine does beside the runs: booting, clearing up.
const patience = 2 * time.Minute

// boot has the machine do its runs, until it ends or is given up on. The
// emulator is gone when it returns.
func (m *machine) boot(ctx context.Context, r *results) error {
	runtime.LockOSThread() // the emulator dies with the thread that started it
	defer runtime.UnlockOSThread()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	events, port, err := os.Pipe()
	if err != nil {
		return err
	}
	defer events.Close()
	cmd := exec.CommandContext(ctx, emulator, m.arguments(m.accelerator(ctx))...)
	cmd.ExtraFiles = []*os.File{port} // its descriptor 3
	dieWithUs(cmd)
	var said strings.Builder
	cmd.Stderr = &said
	err = cmd.Start()
	port.Close()
	if err != nil {
		return fmt.Errorf("cannot start the emulator: %w", err)
	}
	heard := m.listen(events, r, giveUp)
	ended := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the machine was killed: %w", context.Cause(ctx))
	case ended != nil:
		return fmt.Errorf("the emulator failed: %w: %s", ended, said.String())
	}
	return heard
}

// listen passes events on until the machine hangs up.
func (m *machine) listen(events io.Reader, r *results, giveUp func(error)) error {
	doing := "booting"
	watchdog := time.AfterFunc(patience, func() { giveUp(errors.New("it hangs while booting")) })
	defer func() { watchdog.Stop() }()
	for lines := json.NewDecoder(events); ; {
		var e plan.Event
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return fmt.Errorf("the machine ended while %s", doing)
		} else if err != nil {
			giveUp(err)
			return err
		}
		r.take(e)
		switch e.Kind {
		case plan.Output: // is no sign of progress
			continue
		case plan.Broken:
			return fmt.Errorf("the machine could not be set up: %s", e.Why)
		case plan.Done:
			return nil
		}
		var limit time.Duration
		doing, limit = m.next(e)
		watchdog.Stop()
		hangs := fmt.Errorf("it hangs while %s", doing)
		watchdog = time.AfterFunc(limit, func() { giveUp(hangs) })
	}
}

// next tells what follows an event, and how long it may take.
func (m *machine) next(e plan.Event) (doing string, limit time.Duration) {
	if e.Kind == plan.Begin {
		run := m.runs[e.Run]
		return "running " + run.Name, run.Timeout + patience
	}
	return "going on to the next run", patience
}

// emulator is the program that is the machine.
const emulator = "qemu-system-x86_64"

// accelerator is what the machine runs on: this machine's processors where they
// can be lent, and else emulated ones. That there is a /dev/kvm, and that it opens,
// says little: in some machines that are virtual themselves a guest then hangs at
// its first instruction. So a kernel is booted that has no root: it panics at once,
// and with that the emulator ends.
func (m *machine) accelerator(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, emulator, append(ordinary("kvm"), "-m", "256", "-kernel", m.kernel, "-append", "panic=-1")...)
	dieWithUs(cmd)
	if cmd.Run() == nil {
		return "kvm"
	}
	return "tcg"
}

// ordinary are the arguments for a machine of the ordinary kind: the small ones
// that boot faster have no clock that the kernel could trust.
func ordinary(accelerator string) []string {
	return []string{"-M", "q35,accel=" + accelerator, "-cpu", "qemu64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"}
}

func (m *machine) arguments(accelerator string) []string {
	args := append(ordinary(accelerator),
		"-smp", "2", "-m", "2048", "-kernel", m.kernel, "-initrd", m.initrd,
		// The emulated processors count in step, which the kernel cannot know.
		"-append", "console=ttyS0 quiet panic=-1 tsc=reliable",
		"-serial", "file:"+m.log,
		"-device", "virtio-serial-pci",
		"-chardev", "file,id=port,path=/dev/fd/3", "-device", "virtserialport,chardev=port",
	)
	for i, file := range m.disks {
		// The disks are not needed after a crash of this machine.
		args = append(args,
			"-drive", fmt.Sprintf("if=none,id=disk%d,format=raw,cache=unsafe,file=%s", i, strings.ReplaceAll(file, ",", ",,")),
			"-device", fmt.Sprintf("virtio-blk-pci,drive=disk%d", i))
	}
	return args
}

// console is what the kernel said last.
func (m *machine) console() string {
	content, err := os.ReadFile(m.log)
	if err != nil {
		return "its console cannot be read: " + err.Error()
	}
	if len(content) == 0 {
		return "its console is empty"
	}
	const enough = 8000
	return "on its console:\n" + string(content[max(0, len(content)-enough):])
}
