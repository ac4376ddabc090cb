package rules

import (
	"slices"
	"strconv"

	"github.com/forkbox/forkbox"
)

// Project is what a project's file may do beyond naming public hosts. A
// repository that somebody clones must not open their network or use their
// credentials, unless the host's owner wants that.
type Project struct{ HostPorts, Secrets, Private bool }

// check refuses what a project may not ask for by itself, unless its user asks
// for the same.
func (may Project) check(user, project forkbox.NetWish) error {
	if !may.HostPorts {
		if port, is := firstNotIn(project.HostPorts, user.HostPorts); is {
			text := strconv.Itoa(port)
			return notByItself("port "+text+" of the host", "--host-port "+text, "host-ports")
		}
	}
	if !may.Secrets {
		if name, is := firstNotIn(project.Secrets, user.Secrets); is {
			return notByItself("the secret "+oneLine(name), "--secret "+oneLine(name), "secrets")
		}
	}
	if may.Private {
		return nil
	}
	return checkNearby(user.Rules, project.Rules)
}

// checkNearby refuses rules of a project that open what is not public.
func checkNearby(user, project []string) error {
	said := map[string]bool{}
	for _, text := range user {
		if r, err := Parse(text); err == nil {
			said[r.String()] = true
		}
	}
	for _, text := range project {
		r, err := Parse(text)
		if err != nil {
			return err
		}
		if r.nearby() && !said[r.String()] {
			return notByItself("`"+r.String()+"`", "--allow '"+r.Object()+"'", "private")
		}
	}
	return nil
}

func firstNotIn[T comparable](wanted, said []T) (T, bool) {
	for _, v := range wanted {
		if !slices.Contains(said, v) {
			return v, true
		}
	}
	var none T
	return none, false
}

// notByItself says what its user can type instead.
func notByItself(what, flag, key string) error {
	return forkbox.Errorf(forkbox.Denied, "use the project's network", "its file asks for %s, which a project cannot open by itself", what).
		Hint("%s allows it for this box", flag).
		Hint("network: {project: {%s: true}} in the host's config.yaml allows it for every project", key)
}
