//go:build linux

package boxinit

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// stat is what init needs of /proc/PID/stat.
type stat struct {
	pid, ppid, group, session int
	state                     string
	name                      string
	start                     uint64 // in ticks since boot
}

const TicksPerSecond = 100 // USER_HZ, the same on every architecture Go runs on

// stats reads every process of the box.
func stats() ([]stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []stat
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if st, err := readStat(pid); err == nil {
				list = append(list, st)
			}
		}
	}
	return list, nil
}

func readStat(pid int) (stat, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(pid, raw)
}

// parseStat copes with command names that hold spaces and parentheses: the
// last one closes the name.
func parseStat(pid int, raw []byte) (stat, error) {
	open, shut := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || shut < open {
		return stat{}, fmt.Errorf("cannot parse /proc/%d/stat", pid)
	}
	fields := strings.Fields(string(raw[shut+1:]))
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("cannot parse /proc/%d/stat", pid)
	}
	st := stat{pid: pid, name: string(raw[open+1 : shut]), state: fields[0]}
	st.ppid, _ = strconv.Atoi(fields[1])
	st.group, _ = strconv.Atoi(fields[2])
	st.session, _ = strconv.Atoi(fields[3])
	st.start, _ = strconv.ParseUint(fields[19], 10, 64)
	return st, nil
}

// processes lists those of the box, init included, zombies and agents not.
func (p *pid1) processes() ([]forkbox.Process, error) {
	all, err := stats()
	if err != nil {
		return nil, err
	}
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	boot := time.Now().Add(-time.Duration(now.Nano()))
	list := make([]forkbox.Process, 0, len(all))
	for _, st := range all {
		if st.state == "Z" || p.isAgent(st.pid) {
			continue
		}
		started := boot.Add(time.Duration(st.start) * time.Second / TicksPerSecond)
		list = append(list, forkbox.Process{PID: st.pid, PPID: st.ppid, UID: uidOf(st.pid),
			State: st.state, Command: command(st), Started: started})
	}
	return list, nil
}

func command(st stat) []string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(st.pid) + "/cmdline")
	if err != nil || len(raw) == 0 {
		return []string{"[" + st.name + "]"}
	}
	if st.pid == 1 {
		return []string{InitName}
	}
	return strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
}

func uidOf(pid int) int {
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/"+strconv.Itoa(pid), &st); err != nil {
		return -1
	}
	return int(st.Uid)
}

// foreground is the process group that a terminal's keys go to.
func foreground(tty *os.File) int {
	conn, err := tty.SyscallConn()
	if err != nil {
		return 0
	}
	group := 0
	_ = conn.Control(func(fd uintptr) {
		group, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
	})
	return group
}
