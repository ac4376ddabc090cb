package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	worldAddr = "203.0.113.1" // of the server
	nearAddr  = "203.0.113.2" // of what stands for the host
	worldPort = "7000"
)

// netWorld is two network namespaces and a veth pair between them: a server in
// the one, in the other what stands for the host. This machine's own network is
// not touched. Both belong to processes that end with us, and end with them.
type netWorld struct {
	server, near *line
	host         int // a process in what stands for the host
}

func newNetWorld(ctx context.Context) (*netWorld, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("only root can make network namespaces that every tool can use")
	}
	w := &netWorld{}
	var world int
	var err error
	w.server, world, err = call(ctx, []string{"unshare", "--net", "--"}, "answer", ":"+worldPort)
	if err != nil {
		return nil, err
	}
	if w.near, w.host, err = call(ctx, []string{"unshare", "--net", "--"}, "agent", worldAddr+":"+worldPort); err == nil {
		err = w.connect(ctx, world)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// connect makes the veth pair. The default route is for tools that copy it.
func (w *netWorld) connect(ctx context.Context, world int) error {
	for _, step := range []struct {
		in   int
		does string
	}{
		{w.host, "link set lo up"},
		{w.host, fmt.Sprintf("link add fb-near type veth peer name fb-far netns %d", world)},
		{world, "address add " + worldAddr + "/24 dev fb-far"},
		{world, "link set fb-far up"},
		{w.host, "address add " + nearAddr + "/24 dev fb-near"},
		{w.host, "link set fb-near up"},
		{w.host, "route add default via " + worldAddr},
	} {
		argv := append(within(step.in), append([]string{"ip"}, strings.Fields(step.does)...)...)
		if err := quietly(exec.CommandContext(ctx, argv[0], argv[1:]...)); err != nil {
			return err
		}
	}
	return nil
}

func (w *netWorld) close() {
	for _, l := range []*line{w.near, w.server} {
		if l != nil {
			l.close()
		}
	}
}
