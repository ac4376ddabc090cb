package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// makeInitramfs writes what the kernel starts with: init, and the modules
// that it needs to reach the root disk.
func makeInitramfs(file, root, release string) error {
	modules := filepath.Join(root, "usr/lib/modules", release)
	order, err := loadOrder(filepath.Join(modules, "modules.dep"))
	if err != nil {
		return err
	}
	archive := &cpio{}
	for _, dir := range []string{"dev", "root", plan.Modules[1:]} {
		archive.add(dir, directory, nil)
	}
	if err := archive.addFile("init", filepath.Join(root, plan.Init)); err != nil {
		return err
	}
	for i, module := range order {
		name := fmt.Sprintf("%s/%02d-%s", plan.Modules[1:], i, filepath.Base(module))
		if err := archive.addFile(name, filepath.Join(modules, module)); err != nil {
			return err
		}
	}
	return os.WriteFile(file, archive.end(), 0o600)
}

// loadOrder lists drivers and what they depend on, dependencies first.
func loadOrder(index string) (order []string, err error) {
	content, err := os.ReadFile(index)
	if err != nil {
		return nil, err
	}
	for _, driver := range drivers {
		needs, err := dependencies(content, driver)
		if err != nil {
			return nil, err
		}
		for _, n := range needs {
			if !slices.Contains(order, n) {
				order = append(order, n)
			}
		}
	}
	return order, nil
}

// dependencies reads "file: the files it needs, the last one first".
func dependencies(index []byte, driver string) ([]string, error) {
	for lines := bufio.NewScanner(bytes.NewReader(index)); lines.Scan(); {
		file, needs, _ := strings.Cut(lines.Text(), ":")
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		if strings.ReplaceAll(name, "-", "_") == driver {
			all := append([]string{file}, strings.Fields(needs)...)
			slices.Reverse(all)
			return all, nil
		}
	}
	return nil, fmt.Errorf("the kernel has no module %s", driver)
}

// Modes of what is in an archive.
const (
	directory  = 0o040755
	executable = 0o100755
)

// cpio is an archive in the format that the kernel unpacks.
type cpio struct {
	content bytes.Buffer
	entries int
}

func (c *cpio) addFile(name, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c.add(name, executable, content)
	return nil
}

// add writes thirteen numbers, the name and the content, both padded: inode,
// mode, owner, group, links, time, size, four device numbers, the length of
// the name and a checksum that is not used.
func (c *cpio) add(name string, mode int, content []byte) {
	c.entries++
	fmt.Fprintf(&c.content, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.entries, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	c.content.WriteString(name + "\x00")
	c.pad()
	c.content.Write(content)
	c.pad()
}

func (c *cpio) pad() {
	for c.content.Len()%4 != 0 {
		c.content.WriteByte(0)
	}
}

func (c *cpio) end() []byte {
	c.add("TRAILER!!!", 0, nil)
	return c.content.Bytes()
}
