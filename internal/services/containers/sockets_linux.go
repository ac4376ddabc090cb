package containers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Silent is a socket that an engine should answer on and does not.
type Silent struct {
	Socket string
	Why    string
}

// usual are the sockets of engines that run as root.
var usual = []string{"/var/run/docker.sock", "/run/podman/podman.sock"}

// variables say where an engine is, if it is elsewhere.
var variables = []string{"DOCKER_HOST", "CONTAINER_HOST"}

// sockets are where engines may be that a user could ask, each once.
func sockets(who forkbox.Owner) (paths []string) {
	own := filepath.Join("/run/user", strconv.Itoa(who.UID))
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && who.UID == os.Geteuid() {
		own = dir
	}
	var seen []os.FileInfo
	for _, path := range slices.Concat(named(), usual, []string{filepath.Join(own, "docker.sock"), filepath.Join(own, "podman/podman.sock")}) {
		info, err := os.Stat(path)
		if err != nil || info.Mode()&fs.ModeSocket == 0 || slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		seen, paths = append(seen, info), append(paths, path)
	}
	return paths
}

// named are the sockets that this process was told of when it was started.
func named() (paths []string) {
	for _, name := range variables {
		if path, is := strings.CutPrefix(os.Getenv(name), "unix://"); is && filepath.IsAbs(path) {
			paths = append(paths, filepath.Clean(path))
		}
	}
	return paths
}

// mayAsk says why a user may not connect to a socket: it takes the right to write
// to it, and to pass each directory on the way. This process may have rights that
// the user has not.
func mayAsk(who forkbox.Owner, socket int) error {
	if who.UID == 0 {
		return nil
	}
	const closed = "you may not connect to it"
	var st unix.Stat_t
	if err := unix.Fstat(socket, &st); err != nil || !permits(who, st, 2) {
		return errors.New(closed)
	}
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(socket))
	if err != nil || !filepath.IsAbs(real) {
		return errors.New(closed)
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if err := unix.Stat(dir, &st); err != nil || !permits(who, st, 1) {
			return errors.New(closed)
		}
		if dir == "/" {
			return nil
		}
	}
}

// permits says whether a file's mode lets a user do something: 1 pass, 2 write.
func permits(who forkbox.Owner, st unix.Stat_t, do uint32) bool {
	switch {
	case int(st.Uid) == who.UID:
		do <<= 6
	case int(st.Gid) == who.GID || slices.Contains(who.Groups, int(st.Gid)):
		do <<= 3
	}
	return st.Mode&do != 0
}
