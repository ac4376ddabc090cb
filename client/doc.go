// Package client talks to a forkbox daemon over its unix socket. The CLI uses
// nothing else.
//
//	c := client.New(client.DefaultSocket())
//	box, err := c.Create(ctx, client.CreateRequest{})
//	session, err := c.Exec(ctx, box.ID, client.ExecRequest{…}, forkbox.Stdio{Out: w})
//	done, err := session.Wait(ctx)
//
// Every error is a [forkbox.Error], with the daemon's own words and hints, or
// the context's.
//
// The types named …Request, …List and [Message] are the API's JSON; the server
// decodes the same types, so that the two ends cannot drift apart.
package client
