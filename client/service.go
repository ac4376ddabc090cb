package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Services is what listens on the daemon's machine, as far as the caller may know.
func (c *Client) Services(ctx context.Context) (api.ServiceList, error) {
	return do(ctx, c.link, "look for services", api.ListServices, api.None{}, nil)
}

// RefreshServices takes the data of services anew, for the boxes to come. A nil
// pause is the daemon's own choice.
func (c *Client) RefreshServices(ctx context.Context, req api.RefreshRequest) ([]forkbox.Still, error) {
	list, err := do(ctx, c.link, "copy services", api.RefreshServices, req, nil)
	return list.Stills, err
}

// ControlService starts, stops or restarts a service of a box.
func (c *Client) ControlService(ctx context.Context, ref, service, what string) (forkbox.Box, error) {
	return do(ctx, c.link, what+" the service "+service, api.ControlService, api.ServiceRequest{Do: what}, nil, ref, service)
}
