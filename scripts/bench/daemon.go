package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// daemon is a forkbox daemon of our own, with its own store.
type daemon struct {
	*client.Client
	binary, home string
	cmd          *exec.Cmd
	env          []string
	landed       string // the receipt of the last apply
}

// startDaemon starts one, with a command before it if it is to run elsewhere. It
// ends also when we are interrupted.
func startDaemon(ctx context.Context, binary string, before ...string) (*daemon, error) {
	return serve(ctx, binary, append(before, binary, "serve", "--idle", "5m"))
}

// listeningDaemon starts one that is reached over HTTPS, too. Such a daemon does
// not end for being idle, but with us.
func listeningDaemon(ctx context.Context, binary string) (*daemon, error) {
	return serve(ctx, binary, []string{"setpriv", "--pdeathsig", "TERM", binary, "serve", "--listen", "127.0.0.1:0"})
}

func serve(ctx context.Context, binary string, argv []string) (*daemon, error) {
	home, err := os.MkdirTemp("", "fbtest-bench-")
	if err != nil {
		return nil, err
	}
	d := &daemon{binary: binary, home: home, env: append(os.Environ(), "FORKBOX_HOME="+home, "FORKBOX_SOCKET=")}
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.Env, d.cmd.Stderr = d.env, os.Stderr
	d.cmd.Env = append(d.cmd.Env, "FORKBOX_LOG=warn")
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	d.Client = client.New(filepath.Join(home, "forkbox.sock"))
	for range 500 {
		if d.Ping(ctx) == nil {
			return d, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.stop()
	return nil, fmt.Errorf("the daemon did not start")
}

func (d *daemon) stop() {
	d.rest()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	_ = d.cmd.Wait()
	if os.RemoveAll(d.home) != nil { // overlayfs's own directories let only root in
		_ = exec.Command("chmod", "-R", "u+rwx", d.home).Run()
		_ = os.RemoveAll(d.home)
	}
}

// rest stops every box: they would outlive the daemon, also when we are
// interrupted.
func (d *daemon) rest() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if d.Client == nil {
		return
	}
	boxes, _ := d.Boxes(ctx)
	for _, box := range boxes {
		if box.State == forkbox.Running {
			_, _ = d.Stop(ctx, box.ID, new(time.Duration))
		}
	}
}

// exec runs true in a box and waits for it.
func (d *daemon) exec(ctx context.Context, box string) error { return d.execOver(ctx, d.Client, box) }

// outside is a client that comes over HTTPS, with a token and the key pinned.
func (d *daemon) outside(ctx context.Context) (*client.Client, error) {
	made, err := d.CreateToken(ctx, api.TokenRequest{Scopes: []string{"read"}, Life: time.Hour})
	if err != nil {
		return nil, err
	}
	at, err := d.Listeners(ctx)
	if err != nil {
		return nil, err
	}
	return client.NewRemote(client.Remote{URL: at[0].URL, Token: made.Token, Pin: at[0].Fingerprint})
}

// execOver runs a command over another client of the daemon.
func (d *daemon) execOver(ctx context.Context, c *client.Client, box string) error {
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"true"}, Dir: "/"}}
	session, err := c.Exec(ctx, box, req, forkbox.Stdio{})
	if err != nil {
		return err
	}
	return finish(ctx, session)
}

func finish(ctx context.Context, session *client.Session) error {
	defer session.Close()
	done, err := session.Wait(ctx)
	if err == nil && (done.Exit == nil || done.Exit.Code != 0) {
		err = fmt.Errorf("%v failed in box %s: %+v", done.Argv, done.Box, done.Exit)
	}
	return err
}

func (d *daemon) create(ctx context.Context) (string, error) {
	box, err := d.Create(ctx, api.CreateRequest{Dir: "/", Env: os.Environ()})
	return box.ID, err
}

// first makes a box and runs a first command in it.
func (d *daemon) first(ctx context.Context) (string, error) {
	return d.firstOf(ctx, api.CreateRequest{Dir: "/", Env: os.Environ()})
}

func (d *daemon) firstOf(ctx context.Context, req api.CreateRequest) (string, error) {
	box, session, err := d.Run(ctx, api.RunRequest{
		Create: req,
		Exec:   api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"true"}}},
	}, forkbox.Stdio{})
	if err != nil {
		return box.ID, err
	}
	return box.ID, finish(ctx, session)
}

// life is a box's: made, one command, gone.
func (d *daemon) life(ctx context.Context) error {
	id, err := d.first(ctx)
	if err != nil {
		return err
	}
	return d.Remove(ctx, id, true)
}

// cli runs a forkbox command line.
func (d *daemon) cli(args ...string) error {
	cmd := exec.Command(d.binary, args...)
	cmd.Env = d.env
	return cmd.Run()
}
