package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// SecretList is secrets, without their values.
type SecretList struct {
	Secrets []forkbox.Secret `json:"secrets"`
}

// SecretRequest is a secret's value, and the hosts that it is sent to. The value
// travels here and nowhere else: no answer has it.
type SecretRequest struct {
	Value string   `json:"value"`
	Hosts []string `json:"hosts"`
}

// Secrets lists the caller's, without their values.
func (c *Client) Secrets(ctx context.Context) ([]forkbox.Secret, error) {
	var list SecretList
	err := c.call(ctx, "list secrets", http.MethodGet, "/secrets", nil, &list)
	return list.Secrets, err
}

// SetSecret keeps a value, in place of the one of that name.
func (c *Client) SetSecret(ctx context.Context, name string, req SecretRequest) error {
	return c.call(ctx, "keep secret "+name, http.MethodPut, secretPath(name), req, nil)
}

// RemoveSecret forgets one.
func (c *Client) RemoveSecret(ctx context.Context, name string) error {
	return c.call(ctx, "remove secret "+name, http.MethodDelete, secretPath(name), nil, nil)
}

func secretPath(name string) string { return "/secrets/" + segment(name) }
