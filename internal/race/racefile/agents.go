package racefile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

const (
	promptMark = "{prompt}"
	promptName = "FORKBOX_PROMPT"
)

// Agents are approaches that ask an agent: each prompt n times. In the command
// {prompt} stands for the prompt, as one word whatever is in it; without it, the
// prompt is only in the variable FORKBOX_PROMPT. A command that knows what to do
// needs no prompt.
func Agents(command string, prompts []string, n int) ([]forkbox.Approach, error) {
	if err := checkAgents(command, prompts, n); err != nil {
		return nil, err
	}
	if len(prompts) == 0 {
		prompts = []string{""}
	}
	var list []forkbox.Approach
	for i, prompt := range prompts {
		list = append(list, asked(forkbox.Approach{Name: agentName(i+1, len(prompts)), Prompt: prompt}, command))
	}
	list = Samples(list, n)
	return list, (forkbox.RaceSpec{Approaches: list}).Check()
}

func checkAgents(command string, prompts []string, n int) error {
	const op = "ask agents"
	switch {
	case strings.TrimSpace(command) == "":
		return forkbox.Errorf(forkbox.Invalid, op, "there is no command for it").Hint("for example --agent 'claude -p {prompt}'")
	case len(prompts) == 0 && strings.Contains(command, promptMark):
		return forkbox.Errorf(forkbox.Invalid, op, "there is nothing to ask").Hint("for example --prompt 'Fix the failing test'")
	case n < 0 || n > forkbox.MostApproaches || len(prompts)*max(n, 1) > forkbox.MostApproaches:
		return forkbox.Errorf(forkbox.Invalid, op, "%d prompts %d times are too many: a race has up to %d approaches", len(prompts), n, forkbox.MostApproaches)
	}
	for i, prompt := range prompts {
		if strings.TrimSpace(prompt) == "" {
			return forkbox.Errorf(forkbox.Invalid, op, "prompt %d is empty", i+1)
		}
	}
	return nil
}

// agentName is for one without a name: the only one needs no number.
func agentName(i, of int) string {
	if of == 1 {
		return "agent"
	}
	return fmt.Sprintf("agent-%d", i)
}

// asked is an approach whose only step asks its prompt.
func asked(a forkbox.Approach, command string) forkbox.Approach {
	a.Steps = []forkbox.Command{{Name: "agent", Run: insert(command)}}
	a.Env = append(slices.Clone(a.Env), promptName+"="+a.Prompt)
	return a
}

// insert puts the prompt where the mark is. Its text never becomes part of what
// sh reads as a program: a prompt may be an issue that a stranger wrote. sh takes
// it from the variable, in double quotes, so that it is one word; where the mark
// stands in quotes already they are made use of. Quotes that are too intricate
// to follow can make several words of it, but never run it.
func insert(command string) string {
	var b strings.Builder
	quotes := quoting{0}
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case strings.HasPrefix(command[i:], promptMark):
			b.WriteString(expansion(quotes.now()))
			i += len(promptMark) - 1
			continue
		case c == '\\' && quotes.now() != '\'' && i+1 < len(command):
			b.WriteByte(c)
			i++
		default:
			quotes = quotes.after(command[:i], c)
		}
		b.WriteByte(command[i])
	}
	return b.String()
}

// quoting is which quotes a place in a line for sh is in: one for each level of
// $( ), in which they begin anew.
type quoting []byte

func (q quoting) now() byte { return q[len(q)-1] }

// after is the state behind c, which comes after what was read before.
func (q quoting) after(before string, c byte) quoting {
	last := len(q) - 1
	switch now := q[last]; {
	case c == now:
		q[last] = 0
	case now == 0 && (c == '"' || c == '\''):
		q[last] = c
	case c == '(' && (now == 0 || now == '"' && strings.HasSuffix(before, "$")):
		return append(q, 0)
	case now == 0 && c == ')' && last > 0:
		return q[:last]
	}
	return q
}

func expansion(quote byte) string {
	switch quote {
	case '"':
		return "${" + promptName + "}"
	case '\'':
		return `'"${` + promptName + `}"'`
	}
	return `"${` + promptName + `}"`
}
