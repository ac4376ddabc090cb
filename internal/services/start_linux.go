package services

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// StartOf says how a copy of a service is started: as the service itself was, but
// for what its recipe changes, so that the copy does not act in its place. env
// takes credentials out of an environment.
func StartOf(ctx context.Context, s forkbox.Service, env func([]string) []string) (forkbox.ServiceStart, error) {
	return startOf(ctx, s, env, readUnit("/", s.Unit, homeOf(s.UID)))
}

// homeOf is a user's home, "" where the host knows none.
func homeOf(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.HomeDir
	}
	return ""
}

func startOf(ctx context.Context, s forkbox.Service, env func([]string) []string, u unit) (forkbox.ServiceStart, error) {
	known, err := recipes()
	if err != nil {
		return forkbox.ServiceStart{}, err
	}
	if s.Container != nil {
		return startOfContainer(ctx, s, known, env)
	}
	how := starting{Patience: patience}
	if r := named(known, s.Recipe); r != nil {
		how = r.Start
		how.Patience = max(how.Patience, patience)
	}
	if titled(s.Command) && len(u.start) > 0 && len(how.Argv) == 0 {
		s.Command = u.start
	}
	words := wordsFor(ctx, s, how)
	start := forkbox.ServiceStart{
		Argv: how.argv(s, words), Dir: s.Dir, UID: s.UID, User: s.User, GID: groupOf(s.PID), Patience: how.Patience,
		Make: dirsOf(s, u), Ready: fill(how.Ready, words), Reach: reach(how.Reach, words), Stop: int(unix.SignalNum("SIG" + how.Stop)),
	}
	if len(start.Argv) == 0 {
		return start, forkbox.Errorf(forkbox.Unsupported, "copy the service "+s.Name, "its command line is not known")
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.PID))
	if err == nil {
		start.Env = env(withoutManager(splitArgs(string(text))))
	} else {
		start.Env = env(u.env)
	}
	return start, nil
}

// titled says whether a program has written a title over its command line: then it
// is one word with spaces in it.
func titled(command []string) bool {
	return len(command) > 0 && strings.Contains(command[0], " ") && !exists(command[0])
}

// withoutManager leaves out what systemd told a service of itself, which no copy of
// it has: where to report to, and sockets that it was given.
func withoutManager(env []string) []string {
	return slices.DeleteFunc(env, func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return slices.Contains([]string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
			"MAINPID", "MANAGERPID", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "CREDENTIALS_DIRECTORY"}, name)
	})
}

// dirsOf are the directories that a service needs and that no box has: of its
// sockets, and those that systemd makes for it.
func dirsOf(s forkbox.Service, u unit) []string {
	dirs := socketDirs(s)
	for _, name := range u.dirs {
		name, _, _ = strings.Cut(name, ":")
		if dir := filepath.Join("/run", name); forkbox.Within(dir, "/run") && dir != "/run" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// patience is how long a service may take until it answers.
const patience = time.Minute

func (h starting) argv(s forkbox.Service, words map[string]string) []string {
	argv := slices.DeleteFunc(slices.Clone([]string(s.Command)), func(arg string) bool { return slices.Contains(h.Omit, arg) })
	if len(h.Argv) > 0 {
		argv = fill(h.Argv, words)
		title := strings.Fields(strings.Join(s.Command, " "))
		for i, word := range title {
			if slices.Contains(h.Keep, word) && i+1 < len(title) {
				argv = append(argv, word, title[i+1])
			}
		}
	} else if len(argv) > 0 && !filepath.IsAbs(argv[0]) {
		// The name alone, or a path from a directory that is not known.
		argv[0] = filepath.Join(words["bindir"], filepath.Base(argv[0]))
	}
	return append(argv, h.added(words, s.Data)...)
}

// added are the arguments that keep a copy from acting for the service.
func (h starting) added(words map[string]string, data []forkbox.ServiceData) []string {
	argv := fill(h.Add, words)
	version, _ := strconv.Atoi(words["version"])
	for from, more := range h.Since {
		if version >= from {
			argv = append(argv, fill(more, words)...)
		}
	}
	for name, more := range h.When {
		if slices.ContainsFunc(data, func(d forkbox.ServiceData) bool { return filepath.Base(d.Path) == name }) {
			argv = append(argv, more...)
		}
	}
	return argv
}

// wordsFor are what a recipe's words in braces stand for.
func wordsFor(ctx context.Context, s forkbox.Service, how starting) map[string]string {
	words := map[string]string{"dir": s.Dir, "answer": ask(ctx, s, how)}
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.PID)); err == nil {
		words["bindir"] = filepath.Dir(exe)
	}
	if len(s.Sockets) > 0 {
		words["socket"], words["socketdir"] = s.Sockets[0], filepath.Dir(s.Sockets[0])
		words["port"] = strings.TrimPrefix(filepath.Ext(s.Sockets[0]), ".") // PostgreSQL's has it
	}
	if len(s.Ports) > 0 {
		words["port"] = strconv.Itoa(s.Ports[0])
	}
	if words["socketdir"] == "" {
		words["socketdir"] = "127.0.0.1" // where a host is meant as well
	}
	if len(s.Data) > 0 {
		if text, err := os.ReadFile(filepath.Join(s.Data[0].Path, "PG_VERSION")); err == nil {
			words["version"] = strings.TrimSpace(string(text))
		}
	}
	return words
}

// ask asks the service itself, where its recipe knows how to.
func ask(ctx context.Context, s forkbox.Service, how starting) string {
	if how.Ask == "" || len(s.Ports) == 0 {
		return ""
	}
	d := net.Dialer{Timeout: askLimit}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Ports[0])))
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(askLimit))
	if _, err := conn.Write([]byte(how.Ask)); err != nil {
		return ""
	}
	answer := make([]byte, 0, 8<<10)
	for len(answer) < cap(answer) {
		n, err := conn.Read(answer[len(answer):cap(answer)])
		answer = answer[:len(answer)+n]
		if _, rest, found := bytes.Cut(answer, []byte(how.Find)); found {
			if value, _, whole := bytes.Cut(rest, []byte("\n")); whole {
				return string(bytes.TrimSpace(value))
			}
		}
		if err != nil {
			break
		}
	}
	return ""
}

const askLimit = 2 * time.Second

// fill puts the words in. An argument that is one word alone and has no value is
// left out.
func fill(argv []string, words map[string]string) (filled []string) {
	for _, arg := range argv {
		if strings.HasPrefix(arg, "{") && strings.HasSuffix(arg, "}") && words[arg[1:len(arg)-1]] == "" {
			continue
		}
		for name, value := range words {
			arg = strings.ReplaceAll(arg, "{"+name+"}", value)
		}
		filled = append(filled, arg)
	}
	return filled
}

// reach fills in the variables that lead to a service, but for those that are not
// known.
func reach(vars []string, words map[string]string) (known []string) {
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		if filled := fill([]string{value}, words); len(filled) > 0 {
			known = append(known, name+"="+filled[0])
		}
	}
	return known
}

// socketDirs are the directories of a service's unix sockets: those in /run are
// not in boxes.
func socketDirs(s forkbox.Service) (dirs []string) {
	for _, socket := range s.Sockets {
		dir := filepath.Dir(socket)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if forkbox.Within(dir, "/run") && dir != "/run" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// groupOf is the group that a process runs as.
func groupOf(pid int) int {
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return 0
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Gid)
	}
	return 0
}

func named(all []recipe, name string) *recipe {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}
