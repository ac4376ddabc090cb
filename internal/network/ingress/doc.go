// Package ingress is the way into boxes: it publishes their ports on the host's
// loopback, and opens them by URL.
//
// Every box has the same ports for itself, so the host needs names for them. A
// published port is a number of the host's that leads to a number of the box's:
// bytes are relayed, whatever they mean. A URL such as
// http://3000--try.localhost:7357 needs no number: one HTTP server serves all
// boxes and tells them apart by the Host header. Browsers and systems resolve
// every name below localhost to the loopback by themselves.
//
// What it guards against:
//   - Only the loopback is listened on, at both of its addresses: else a
//     program of somebody else could sit at [::1] and get half of the visitors.
//   - A web page that lets its own name resolve to the loopback (DNS rebinding)
//     sends its own name as Host and is turned away. Nothing but a name below
//     localhost is served, and of those only what somebody opened.
//   - Nothing is dialled but the box's own loopback, by the function that came
//     with the box. No part of a request chooses an address.
//   - Connections are counted, per box and in all: visitors of one box cannot
//     use up the daemon's files.
//
// The loopback belongs to everybody on the machine: like any server there, what
// is published can be reached by all of its users. The server in the box has to
// know whom it trusts.
package ingress
