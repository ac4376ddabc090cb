package intercept

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// failed answers in place of a server that did not.
func (v *visit) failed(w http.ResponseWriter, r *http.Request, err error) {
	status, why := v.explain(err)
	v.fail(w, r, status, why)
}

// explain puts an error of the way out into words. It does not quote errors of
// reading an answer: those quote the answer, which may have a secret in it.
func (v *visit) explain(err error) (status int, why string) {
	var (
		refused     unreadable
		dialing     dialError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		timeout     net.Error
	)
	host := v.Host // that was connected to: of a proxied request it is the proxy
	switch {
	case errors.As(err, &refused):
		return http.StatusBadGateway, string(refused)
	case errors.As(err, &dialing):
		return dialStatus(err), fmt.Sprintf("cannot connect to %s: %v", v.Addr, dialing.error)
	case errors.As(err, &certificate):
		return http.StatusBadGateway, fmt.Sprintf("the certificate of %s is not good: %v", host, certificate.Err)
	case errors.As(err, &record):
		return http.StatusBadGateway, fmt.Sprintf("%s does not speak TLS at port %d", host, v.Addr.Port())
	case errors.As(err, &alert):
		return http.StatusBadGateway, fmt.Sprintf("%s refuses TLS: %v", host, alert)
	case errors.Is(err, context.Canceled):
		return http.StatusBadGateway, "the client has gone"
	case errors.As(err, &timeout) && timeout.Timeout():
		return http.StatusGatewayTimeout, "the server took too long"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadGateway, "the server closed the connection without an answer"
	}
	return http.StatusBadGateway, "the server's answer is not HTTP, or is more than is taken"
}

func dialStatus(err error) int {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}
