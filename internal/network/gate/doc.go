// Package gate is the gate of a box: the one way out of its network
// namespace, and a TCP/IP stack in user space that decides about everything
// that comes along it.
//
// From top to bottom, what happens to a packet:
//
//	link      reads raw IP packets from the box's TUN device and writes those
//	          for it. One goroutine per box, parked in Go's poller.
//	filter    looks at each packet before the stack does: TCP and UDP go on, an
//	          echo request for the gateway too, all else is refused here.
//	stack     speaks the protocols. It is made when the first packet gets this
//	          far, or a teammate connects: an idle box has none.
//	tcp, udp  hear of each new connection or session, before it is accepted.
//	way       decides: it asks pins which names an address was given out for,
//	          standIns which refused name or teammate an address stands for, and
//	          the Policy about that name, address and port. What is refused gets
//	          a reset (TCP) or "port unreachable" (UDP), at once.
//	dial      reaches the real world, before the box hears that it is connected:
//	          a host that refuses looks like one that refuses.
//	peek      reads what the client says first, before any of it goes out. The
//	          name in a TLS ClientHello or an HTTP request must be one that the
//	          address was given out for.
//	relay     copies both ways, with half-close, counting, and the box's limits.
//
// Names: dns and answer serve the box's name server. A name that no rule can
// allow is never asked for outside, since the question alone can carry data
// out; it gets a stand-in address at which every connection is refused, so that
// the record has the name and the port. Answers for allowed names are pinned.
// The Resolver asks outside, for all gates of a daemon.
//
// Records: every attempt is one forkbox.Conn, see log. Those of refused
// attempts that are alike are folded, so that a box cannot fill the ledger.
//
// Nothing that a box does costs unbounded memory: connections, half-open ones,
// sessions, pins, stand-ins, folded records, questions and buffers all have a
// number that they end at.
package gate
