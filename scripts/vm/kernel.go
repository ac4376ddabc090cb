package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// kernelPackage depends on the newest kernel of this distribution for virtual
// machines.
const kernelPackage = "linux-image-cloud-amd64"

// kernel is one that was unpacked, with its modules.
type kernel struct {
	image   string
	modules string // …/lib/modules/RELEASE
	release string
}

// findKernel takes the kernel from the cache, or has the package manager
// fetch it. Nothing is installed.
func findKernel(ctx context.Context) (*kernel, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache = filepath.Join(cache, "forkbox", "vm")
	name, version, err := newestKernel(ctx)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, name+"_"+version)
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		err = fetchKernel(ctx, name+"="+version, cache, dir)
		if err != nil {
			return nil, err
		}
	}
	return openKernel(dir)
}

var exactDependency = regexp.MustCompile(`(?m)^Depends: (linux-image-\S+) \(= (\S+)\)`)

// newestKernel asks the package manager, which knows nothing on a new
// machine until it was told to look.
func newestKernel(ctx context.Context) (name, version string, err error) {
	known, err := output(ctx, "apt-cache", "show", "--no-all-versions", kernelPackage)
	if err != nil && os.Geteuid() == 0 {
		if _, err := output(ctx, "apt-get", "update", "-qq"); err != nil {
			return "", "", err
		}
		known, err = output(ctx, "apt-cache", "show", "--no-all-versions", kernelPackage)
	}
	if err != nil {
		return "", "", fmt.Errorf("cannot find a kernel: this needs Debian's package %s, and package lists (apt-get update): %w", kernelPackage, err)
	}
	found := exactDependency.FindStringSubmatch(known)
	if found == nil {
		return "", "", fmt.Errorf("cannot find a kernel: %s does not say on which it depends:\n%s", kernelPackage, known)
	}
	return found[1], found[2], nil
}

// fetchKernel unpacks beside dir and renames, so that dir is whole or not there.
func fetchKernel(ctx context.Context, pkg, cache, dir string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(cache, "draft-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	// The package manager's own user may not write here.
	fetch := "cd \"$1\" && apt-get -qq -o APT::Sandbox::User= download \"$2\" && dpkg-deb -x ./*.deb unpacked"
	if _, err := output(ctx, "sh", "-c", fetch, "sh", draft, pkg); err != nil {
		return fmt.Errorf("cannot fetch the kernel: %w", err)
	}
	return os.Rename(filepath.Join(draft, "unpacked"), dir)
}

func openKernel(dir string) (*kernel, error) {
	images, err := filepath.Glob(dir + "/boot/vmlinuz-*")
	if err != nil {
		return nil, err
	}
	if len(images) != 1 {
		return nil, fmt.Errorf("cannot use the kernel in %s: it has %d images; remove the directory and try again", dir, len(images))
	}
	release := strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	modules, err := filepath.Glob(dir + "/*/modules/" + release) // lib or usr/lib
	if err == nil && len(modules) == 0 {
		modules, err = filepath.Glob(dir + "/*/*/modules/" + release)
	}
	if err != nil || len(modules) == 0 {
		return nil, fmt.Errorf("cannot use the kernel in %s: it has no modules", dir)
	}
	return &kernel{image: images[0], modules: modules[0], release: release}, nil
}

// install puts the modules into the machine, with the index by which they
// find each other.
func (k *kernel) install(ctx context.Context, root string) error {
	if err := copyTree(k.modules, filepath.Join(root, "usr/lib/modules", k.release)); err != nil {
		return err
	}
	_, err := output(ctx, "depmod", "-b", filepath.Join(root, "usr"), k.release)
	return err
}
