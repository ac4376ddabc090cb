package registry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"

	"github.com/forkbox/forkbox"
)

// maxAnswer is how much of a refusal is read.
const maxAnswer = 64 << 10

// answer is a registry's refusal.
type answer struct {
	method  string
	address string // without what may be secret in it
	status  int
	says    string // the registry's own words
	again   bool   // there is a new token now
	login   bool   // it is the token server's
}

func (a *answer) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", a.method, a.address, a.status, strings.ToLower(http.StatusText(a.status)))
	if a.says != "" {
		text += ": " + a.says
	}
	return text
}

// readAnswer reads a refusal, and closes the response.
func readAnswer(resp *http.Response) *answer {
	defer resp.Body.Close()
	u := *resp.Request.URL
	u.RawQuery, u.User = "", nil
	a := &answer{method: resp.Request.Method, address: u.String(), status: resp.StatusCode}
	if data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)); err == nil {
		a.says = printable(parseRefusal(data))
	}
	return a
}

// parseRefusal finds the words in the forms that registries and token servers
// use. A page of HTML is not for people who read a terminal.
func parseRefusal(data []byte) string {
	var r struct {
		Errors []struct {
			Code    string          `json:"code"`
			Message string          `json:"message"`
			Detail  json.RawMessage `json:"detail"`
		} `json:"errors"`
		Error       any    `json:"error"`
		Description string `json:"error_description"`
		Details     any    `json:"details"`
		Message     string `json:"message"`
	}
	if json.Unmarshal(data, &r) != nil {
		return ""
	}
	var words []string
	for _, e := range r.Errors {
		text := strings.ToLower(strings.ReplaceAll(e.Code, "_", " "))
		if e.Message != "" {
			text += ": " + e.Message
		}
		if d := string(e.Detail); d != "" && d != "null" && d != "{}" {
			text += ": " + d
		}
		words = append(words, text)
	}
	for _, v := range []any{r.Error, r.Description, r.Details, r.Message} {
		if text, ok := v.(string); ok && text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, "; ")
}

// printable bounds what a registry wrote, and takes out what would steer a
// terminal.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if r := []rune(text); len(r) > 500 {
		text = string(r[:500]) + "…"
	}
	return text
}

// drain lets the connection be used again, if little is left.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	resp.Body.Close()
}

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = forkbox.Errorf(forkbox.Invalid, "read the registry's answer", "it has more than the %d bytes that it may have", limit)
	}
	return data, err
}
