package containers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

const (
	// answerLimit is how long an engine may take: on a machine that is not
	// overloaded it answers within milliseconds.
	answerLimit = 2 * time.Second
	// mostSaid bounds what is read of an answer. The engine may be anybody's.
	mostSaid = 16 << 20
)

// engine is what listens on a socket and runs containers.
type engine struct {
	path string
	who  forkbox.Owner // on whose behalf it is asked
	uid  int           // who runs it, as the kernel said when it was last asked
	http *http.Client
}

func engineAt(path string, who forkbox.Owner) *engine {
	e := &engine{path: path, who: who, uid: -1}
	e.http = &http.Client{Timeout: answerLimit, Transport: &http.Transport{
		DialContext:       e.dial,
		DisableKeepAlives: true,
	}}
	return e
}

// dial connects to the very socket whose rights it has looked at: what the path
// leads to may be another by then.
func (e *engine) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	fd, err := unix.Open(e.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := mayAsk(e.who, fd); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, err
	}
	uid, err := peerOf(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	e.uid = uid
	return conn, nil
}

// peerOf is the user who listens at the other end.
func peerOf(conn net.Conn) (int, error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return -1, err
	}
	uid := -1
	var failed error
	err = raw.Control(func(fd uintptr) {
		var peer *unix.Ucred
		if peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); failed == nil {
			uid = int(peer.Uid)
		}
	})
	return uid, errors.Join(err, failed)
}

// trusted says whether what it names may be opened: it has all rights that this
// process has.
func (e *engine) trusted() bool { return e.uid == 0 || e.uid == os.Geteuid() }

// get asks for something. The paths have no version: an engine answers as the
// newest that it knows, and has always had what is read here.
func (e *engine) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path, nil)
	if err != nil {
		return err
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return reason(err)
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, mostSaid)
	if resp.StatusCode != http.StatusOK {
		var said struct {
			Message string `json:"message"`
		}
		_ = json.NewDecoder(io.LimitReader(body, 4096)).Decode(&said)
		return fmt.Errorf("it answers %s %s", resp.Status, said.Message)
	}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("it answers what no engine does: %w", reason(err))
	}
	return nil
}

// reason is why nothing came back, without the address that every error has.
func reason(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		if at.Timeout() {
			return fmt.Errorf("it does not answer within %s", answerLimit)
		}
		err = at.Err
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

// listed is a container as the engine lists it.
type listed struct {
	ID         string `json:"Id"`
	Names      []string
	Image      string
	Ports      []listedPort
	Labels     map[string]string
	State      string
	HostConfig struct {
		NetworkMode string
	}
}

type listedPort struct {
	PrivatePort, PublicPort int
	Type                    string
}

// inspected is what the engine knows of one.
type inspected struct {
	ID    string `json:"Id"`
	State struct {
		Running, Paused bool
		Pid             int
	}
	Config struct {
		Hostname, User, WorkingDir, StopSignal string
		Env, Cmd, Entrypoint                   []string
		ExposedPorts                           map[string]struct{}
	}
	HostConfig struct {
		NetworkMode string
		Tmpfs       map[string]string
		Devices     []json.RawMessage
	}
	Mounts []mount
}

type mount struct {
	Type, Name, Source, Destination, Driver string
	RW                                      bool
}

func (e *engine) list(ctx context.Context) (all []listed, err error) {
	err = e.get(ctx, "/containers/json", &all)
	return all, err
}

func (e *engine) inspect(ctx context.Context, id string) (c inspected, err error) {
	err = e.get(ctx, "/containers/"+url.PathEscape(id)+"/json", &c)
	return c, err
}
