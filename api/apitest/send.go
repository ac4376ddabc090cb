package apitest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/forkbox/forkbox/api"
)

// Bytes are what goes over the wire. A net/http client would mend some of it.
func (a Attack) Bytes(token string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", a.Route.Method, a.Target)
	header := http.Header{"Host": {"localhost"}, "Connection": {"close"}, "Content-Length": {strconv.Itoa(len(a.Body))}}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	for name, values := range a.Header {
		header[name] = values
	}
	_ = header.Write(&b)
	b.WriteString("\r\n")
	b.Write(a.Body)
	return b.Bytes()
}

// Endless says whether a route may have nothing to say for as long as its caller
// listens.
func Endless(route *api.Route) bool {
	switch route.Name {
	case api.WaitExec.Name, api.WaitPort.Name, api.GetProfile.Name, api.RunCommand.Name, api.StartExec.Name:
		return true
	}
	return route.Answer == api.LinesAnswer || route.Answer == api.SocketAnswer
}

// Send makes an attack over a connection, which it closes, and says what is wrong
// with the answer. Whoever attacks a route that is endless hangs up after a while.
func (a Attack) Send(conn net.Conn, token string, patience time.Duration) error {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	text := a.Bytes(token)
	go func() { _, _ = conn.Write(text) }() // which fails where the answer comes first
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if os.IsTimeout(err) && Endless(a.Route) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%v: no answer: %w", a, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostRead))
	if err != nil && !os.IsTimeout(err) && resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%v: %w", a, err)
	}
	return a.Judge(resp, body, err == nil && len(body) < mostRead)
}

const mostRead = 1 << 20

// Judge finds fault with an answer, of which body is all or only the beginning.
func (a Attack) Judge(resp *http.Response, body []byte, whole bool) error {
	if err := a.fault(resp, body, whole); err != nil {
		return fmt.Errorf("%v\nwas answered %s %.1000s\n%w", a, resp.Status, body, err)
	}
	return nil
}

func (a Attack) fault(resp *http.Response, body []byte, whole bool) error {
	switch status := resp.StatusCode; {
	case status == http.StatusInternalServerError, status == http.StatusBadGateway:
		return fmt.Errorf("the daemon takes the blame")
	case status >= http.StatusBadRequest && !a.isHTTP():
		return nil // net/http refuses it
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return fmt.Errorf("it leads elsewhere: %s", resp.Header.Get("Location"))
	case status >= http.StatusBadRequest:
		if len(body) == 0 {
			return fmt.Errorf("there is no error in it")
		}
		return Check(a.Route, status, body)
	case status < 300 && whole && a.Kind != "path" && a.Header.Get("Accept") == "":
		return Check(a.Route, status, body)
	}
	return nil
}

func (a Attack) isHTTP() bool {
	_, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(a.Bytes(""))))
	return err == nil
}
