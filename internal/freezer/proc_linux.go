package freezer

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Descendants lists all processes below one. In a box they are all there are:
// whoever loses its parent becomes a child of the first process.
func Descendants(pid int) (all []int) {
	for _, child := range children(pid) {
		all = append(all, child)
		all = append(all, Descendants(child)...)
	}
	return all
}

// children are those of all threads of a process.
func children(pid int) (list []int) {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(raw)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// state is the letter that ps shows, 0 for a process that is gone.
func state(pid int) byte {
	if fields := statFields(pid); len(fields) > 0 {
		return fields[0][0]
	}
	return 0
}

// started tells processes with the same pid apart: ticks since boot.
type started string

func startOf(pid int) started {
	if fields := statFields(pid); len(fields) > 19 {
		return started(fields[19])
	}
	return ""
}

// statFields is /proc/PID/stat after the name, which may hold anything.
func statFields(pid int) []string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
}
