package server

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

func (s netRoutes) listPorts(w http.ResponseWriter, r *http.Request) error {
	ports, err := s.Engine.PortsOf(r.Context(), who(r), r.PathValue("box"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.PortList{Ports: notNil(ports)})
}

func (s netRoutes) publishPort(w http.ResponseWriter, r *http.Request) error {
	const op = "publish a port"
	var port forkbox.Port
	if err := decodeExactly(r, &port); err != nil {
		return err
	}
	if err := checkPort(op, "box", port.Box); err != nil {
		return err
	}
	if port.Host != 0 { // any that is free
		if err := checkPort(op, "host", port.Host); err != nil {
			return err
		}
	}
	made, err := s.Engine.Publish(r.Context(), who(r), r.PathValue("box"), port)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, made)
}

func (s netRoutes) unpublishPort(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	var port forkbox.Port
	if port.Box, err = portOf(q, "port"); err != nil {
		return err
	}
	if q.Has("host") {
		if port.Host, err = portOf(q, "host"); err != nil {
			return err
		}
	}
	return done(w, s.Engine.Unpublish(r.Context(), who(r), r.PathValue("box"), port))
}

func portOf(q url.Values, name string) (int, error) {
	const op = "unpublish a port"
	port, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return 0, forkbox.Errorf(forkbox.Invalid, op, "%s=%q is not a number", name, q.Get(name))
	}
	return port, checkPort(op, name, port)
}

func (s netRoutes) openPort(w http.ResponseWriter, r *http.Request) error {
	var req client.OpenRequest
	if err := decodeExactly(r, &req); err != nil {
		return err
	}
	if err := checkPort("open a port", "port", req.Port); err != nil {
		return err
	}
	url, err := s.Engine.URL(r.Context(), who(r), r.PathValue("box"), req.Port)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.OpenResult{URL: url})
}

// waitPort answers when the port does. It ends with the request, and with the
// daemon.
func (s netRoutes) waitPort(w http.ResponseWriter, r *http.Request) error {
	const op = "wait for a port"
	var req client.WaitPortRequest
	if err := decodeExactly(r, &req); err != nil {
		return err
	}
	if err := checkPort(op, "port", req.Port); err != nil {
		return err
	}
	if req.Timeout < 0 {
		return forkbox.Errorf(forkbox.Invalid, op, "the timeout of %s is negative", req.Timeout)
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	err := s.Engine.WaitPort(ctx, who(r), r.PathValue("box"), req.Port, req.Timeout)
	if err != nil && s.isStopping() {
		err = forkbox.Errorf(forkbox.Unavailable, op, "the daemon is stopping")
	}
	return done(w, err)
}

func checkPort(op, name string, port int) error {
	if port < 1 || port > 65535 {
		return forkbox.Errorf(forkbox.Invalid, op, "%s is %d, not a port from 1 to 65535", name, port)
	}
	return nil
}
