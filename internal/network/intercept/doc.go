// Package intercept speaks HTTP in the name of a box's programs: it ends their
// TLS, judges each request, puts secrets in where they sent a placeholder, and
// sees to it that the secrets do not come back.
//
// What becomes of a connection, top to bottom:
//
//	Serve        takes a connection that the gate allowed, and what it knows of it
//	handshake    ends TLS with a certificate of the box's own CA, for that one name
//	heads        looks at the raw heads of HTTP/1 requests: shapes that two servers
//	             can read differently are refused before anything parses them
//	net/http     parses, HTTP/1 and HTTP/2
//	judge        Host must be the name that was connected to, or the server is asked
//	             as a proxy and that host is judged; then the rules decide
//	inject       placeholders in header values become values, over TLS only
//	proxy        the request goes out, freshly written, to the address that the
//	             gate pinned, with its certificate checked against the system's roots
//	scrub        values in the answer's headers, body and trailers become
//	             placeholders again
//
// # What the scan of answers can do
//
// It finds the value as it is, in base64 at any offset and in both alphabets, in
// hexadecimal, percent-encoded and as JSON strings escape it. So that it has
// something to look at, requests to a host with a secret do not ask for
// compression or parts, and an answer that is compressed all the same is
// refused. It is for servers that echo what they get. A server that encrypts the
// value, packs it into an archive, or sends it backwards is not found out: a
// secret is bound to hosts because those are trusted with it.
package intercept
