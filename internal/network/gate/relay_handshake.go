package gate

import (
	"errors"

	"github.com/forkbox/forkbox"
)

var errSeen = errors.New("all that is in clear was seen")

// sendHandshake relays what a client says that was judged by its ClientHello, for
// as long as another can follow. It says whether the rest is to be relayed.
func (c *relay) sendHandshake(said first) bool {
	h := &handshake{name: said.name}
	if err := h.look(c.box.head); err != nil {
		c.turnAway(said, c.changed(h, err))
		return false
	}
	if !c.sendRest() {
		return false
	}
	return h.over || c.followHandshake(said, h)
}

func (c *relay) followHandshake(said first, h *handshake) bool {
	var wrong error
	err := c.box.eachRead(c.gate, func(data []byte) error {
		if wrong = h.look(data); wrong != nil {
			return wrong
		}
		err := c.gate.up.pace(c.ctx, data, c.writeWorld)
		if err == nil && h.over {
			return errSeen
		}
		return err
	})
	switch {
	case wrong != nil:
		c.turnAway(said, c.changed(h, wrong))
	case err == nil || err == errSeen:
		return true // where it has ended, whoever reads next sees that, too
	default:
		c.cut()
	}
	return false
}

// changed is the verdict on a handshake that does not go on as it began. No rule
// could allow that.
func (c *relay) changed(h *handshake, err error) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Target: c.target(), Why: "its TLS handshake is malformed: " + err.Error()}
	if err != errOther {
		return v
	}
	v.Why = "its TLS handshake says first that it is for " + hostOrNone(h.name) + ", and then that it is for " + hostOrNone(h.said)
	if h.said != "" {
		v.Target.Host = h.said
	}
	return v
}

func hostOrNone(name string) string {
	if name == "" {
		return "no host by name"
	}
	return quote(name)
}
