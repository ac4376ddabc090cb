package git

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// policy is what the configuration says about commits of applied changes.
type policy struct {
	author    string
	coAuthors []string
	template  string
}

// isPerson knows how git writes one: "Name <mail>". Anything else --author
// takes for a pattern to look for among earlier authors.
func isPerson(text string) bool {
	const space = "\t\n\f\r "
	name, mail, _ := strings.Cut(text, " <")
	mail, closed := strings.CutSuffix(mail, ">")
	return closed && mail != "" && !strings.ContainsAny(mail, "<>"+space) &&
		strings.Trim(name, space) != "" && !strings.ContainsAny(name, "<>\n")
}

// maxMessage fits into one argument of a command.
const maxMessage = 100 << 10

// commitArgs is the command that commits, with its message and author.
func (r Repo) commitArgs(ctx context.Context, spec CommitSpec, count int) ([]string, error) {
	p, err := r.policy(ctx)
	if err != nil {
		return nil, err
	}
	message, trailers := p.compose(spec, count)
	if len(message) > maxMessage || strings.ContainsRune(message, 0) {
		return nil, forkbox.Errorf(forkbox.Invalid, opCommit, "the message has a zero byte or more than %d bytes", maxMessage)
	}
	if message, err = r.addTrailers(ctx, message, trailers); err != nil {
		return nil, err
	}
	args := []string{"commit", "--quiet", "--only", "--pathspec-from-file=-", "--pathspec-file-nul", "--cleanup=whitespace", "--message=" + message}
	if p.author != "" {
		args = append(args, "--author="+p.author)
	}
	return args, nil
}

// addTrailers has git add them: it knows where they belong when the message has
// some of its own. The comment character is one that no message has, for a line
// such as "#12" at the end is part of the message, not a comment.
func (r Repo) addTrailers(ctx context.Context, message string, trailers []string) (string, error) {
	if len(trailers) == 0 || strings.TrimSpace(message) == "" {
		return message, nil
	}
	args := []string{"interpret-trailers", "--no-divider"}
	for _, t := range trailers {
		args = append(args, "--trailer", t)
	}
	out, err := r.run(ctx, call{
		flags: []string{"-c", "core.commentChar=\x01"},
		args:  args,
		stdin: []byte(strings.TrimRight(message, " \t\r\n") + "\n"),
		env:   []string{"GIT_DIR=/dev/null"}, // the repository can name commands that make trailers
	})
	return string(out), err
}

// policy reads the configuration. What is there must make sense: a co-author
// that is silently left out is a wrong commit.
func (r Repo) policy(ctx context.Context) (policy, error) {
	var p policy
	out, err := r.read(ctx, nil, "config", "-z", "--get-regexp", `^forkbox\.(author|coauthor|committemplate)$`)
	var no *refusal
	if errors.As(err, &no) && no.code == 1 {
		return p, nil // none is set
	}
	for _, entry := range records(out) { // "KEY<newline>VALUE"
		key, value, _ := strings.Cut(entry, "\n")
		if err := p.set(key, value); err != nil {
			return p, err
		}
	}
	return p, err
}

func (p *policy) set(key, value string) error {
	switch key {
	case "forkbox.committemplate":
		p.template = value
		return nil
	case "forkbox.author":
		p.author = value
	case "forkbox.coauthor":
		p.coAuthors = append(p.coAuthors, value)
	}
	if !isPerson(value) {
		return forkbox.Errorf(forkbox.Invalid, opCommit, "%s in the git configuration is %q", key, value).
			Hint(`write it as "Name <mail>"`)
	}
	return nil
}

// compose is the message and what git is to add to it. Placeholders are
// replaced in one go: one that the message itself has stays as it is.
func (p policy) compose(spec CommitSpec, count int) (message string, trailers []string) {
	message = spec.Message
	if strings.TrimSpace(message) == "" {
		message = "Apply changes of box " + spec.Box
	}
	if p.template == "" {
		trailers = defaultTrailers(spec)
	} else {
		message = strings.NewReplacer("{message}", message, "{box}", spec.Box,
			"{receipt}", spec.Receipt, "{count}", strconv.Itoa(count)).Replace(p.template)
	}
	for _, who := range p.coAuthors {
		trailers = append(trailers, "Co-authored-by: "+who)
	}
	return message, trailers
}

func defaultTrailers(spec CommitSpec) (trailers []string) {
	for _, t := range []struct{ name, value string }{{"Forkbox-Box", spec.Box}, {"Forkbox-Receipt", spec.Receipt}} {
		if t.value != "" {
			trailers = append(trailers, t.name+": "+strings.Join(strings.Fields(t.value), " "))
		}
	}
	return trailers
}
