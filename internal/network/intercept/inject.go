package intercept

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// boundTo are the secrets that may be sent to a host.
func (i *Interceptor) boundTo(host string) (bound []Secret) {
	if i.Secrets == nil {
		return nil
	}
	for _, s := range i.Secrets() {
		if s.Placeholder == "" || len(s.Value) == 0 {
			continue
		}
		if slices.ContainsFunc(s.Hosts, func(pattern string) bool { return covers(pattern, host) }) {
			bound = append(bound, s)
		}
	}
	return bound
}

// asksForSecret says whether inject would put something in.
func asksForSecret(header http.Header, bound []Secret) bool {
	return len(inject(header.Clone(), bound)) > 0
}

// inject replaces placeholders in header values, and names the secrets that it
// put in. Names of headers, the URL and the body are left as they are: those end
// up in logs, caches and databases.
func inject(header http.Header, bound []Secret) (used []string) {
	for name, values := range header {
		for n, value := range values {
			for _, s := range bound {
				with := fillIn(name, value, s)
				if with == value {
					continue
				}
				value = with
				if !slices.Contains(used, s.Name) {
					used = append(used, s.Name)
				}
			}
			values[n] = value
		}
	}
	slices.Sort(used)
	return used
}

func fillIn(name, value string, s Secret) string {
	if name == "Authorization" {
		value = fillInBasic(value, s)
	}
	return strings.ReplaceAll(value, s.Placeholder, string(s.Value))
}

// fillInBasic looks into "Basic BASE64", where git and curl put a user's name and
// the placeholder as password.
func fillInBasic(value string, s Secret) string {
	scheme, coded, _ := strings.Cut(value, " ")
	coded = strings.TrimSpace(coded)
	if !strings.EqualFold(scheme, "Basic") {
		return value
	}
	plain, err := base64.StdEncoding.DecodeString(coded)
	if err != nil || !strings.Contains(string(plain), s.Placeholder) {
		return value
	}
	filled := strings.ReplaceAll(string(plain), s.Placeholder, string(s.Value))
	return scheme + " " + base64.StdEncoding.EncodeToString([]byte(filled))
}
