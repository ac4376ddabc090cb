package api

import "github.com/forkbox/forkbox"

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
