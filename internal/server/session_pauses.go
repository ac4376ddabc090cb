package server

import (
	"context"
	"fmt"
	"time"

	"github.com/forkbox/forkbox/client"
)

// tellPauses tells the caller when the box that it waits for stands still, and
// when it goes on: a command that hangs without a word helps nobody.
func (c *session) tellPauses(ctx context.Context, box string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for was := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b, err := c.Engine.Box(ctx, who(c.req), box)
		if err != nil || b.Paused == was {
			continue
		}
		was = b.Paused
		text := b.Name + " goes on"
		if was != "" {
			text = fmt.Sprintf("%s is paused: %s. Let it go on: forkbox resume %s   End it: forkbox stop %s", b.Name, was, b.Name, b.Name)
		}
		c.conn.Send(client.Message{Type: client.MsgNote, Text: text})
	}
}
