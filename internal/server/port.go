package server

import (
	"cmp"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s netRoutes) listPorts(r *http.Request, _ api.None) (api.PortList, error) {
	ports, err := s.Engine.PortsOf(r.Context(), who(r), r.PathValue("box"))
	return api.PortList{Ports: notNil(ports)}, err
}

func (s netRoutes) publishPort(r *http.Request, port forkbox.Port) (forkbox.Port, error) {
	const op = "publish a port"
	if err := checkPort(op, "box", port.Box); err != nil {
		return port, err
	}
	if port.Host != 0 { // any that is free
		if err := checkPort(op, "host", port.Host); err != nil {
			return port, err
		}
	}
	return s.Engine.Publish(r.Context(), who(r), r.PathValue("box"), port)
}

func (s netRoutes) unpublishPort(r *http.Request, _ api.None) (none api.None, err error) {
	const op = "unpublish a port"
	port := forkbox.Port{Box: int(numberOf(r, "port")), Host: int(numberOf(r, "host"))}
	if err := checkPort(op, "port", port.Box); err != nil {
		return none, err
	}
	if r.URL.Query().Has("host") {
		if err := checkPort(op, "host", port.Host); err != nil {
			return none, err
		}
	}
	return none, s.Engine.Unpublish(r.Context(), who(r), r.PathValue("box"), port)
}

func (s netRoutes) openPort(r *http.Request, req api.OpenRequest) (done api.OpenResult, err error) {
	if err := checkPort("open a port", "port", req.Port); err != nil {
		return done, err
	}
	done.URL, err = s.Engine.URL(r.Context(), who(r), r.PathValue("box"), req.Port)
	return done, err
}

// waitPort answers when the port does. It ends with the request, and with the
// daemon.
func (s netRoutes) waitPort(r *http.Request, req api.WaitPortRequest) (none api.None, err error) {
	const op = "wait for a port"
	if err := checkPort(op, "port", req.Port); err != nil {
		return none, err
	}
	if req.Timeout < 0 {
		return none, forkbox.Errorf(forkbox.Invalid, op, "the timeout of %s is negative", req.Timeout)
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	err = s.Engine.WaitPort(ctx, who(r), r.PathValue("box"), req.Port, req.Timeout)
	return none, cmp.Or(s.cutOff(r, op, err), err)
}

func checkPort(op, name string, port int) error {
	if port < 1 || port > 65535 {
		return forkbox.Errorf(forkbox.Invalid, op, "%s is %d, not a port from 1 to 65535", name, port)
	}
	return nil
}
