package registry

import "strings"

// challenge is what a registry wants to know: a WWW-Authenticate header has
// one or more of them.
type challenge struct {
	scheme string // in small letters
	params map[string]string
}

// parseChallenges reads as much as makes sense. A scheme is a word that no
// "=" follows; what follows it up to the next one are its parameters.
func parseChallenges(header string) (all []challenge) {
	for rest := header; ; {
		var word, value string
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return all
		}
		if word, rest = cutWord(rest); word == "" {
			rest = behindComma(rest)
			continue
		}
		after, isParam := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "=")
		if !isParam {
			all = append(all, challenge{strings.ToLower(word), map[string]string{}})
			continue
		}
		value, rest = cutValue(strings.TrimLeft(after, " \t"))
		if len(all) > 0 {
			all[len(all)-1].params[strings.ToLower(word)] = value
		}
	}
}

func behindComma(text string) string {
	_, rest, _ := strings.Cut(text, ",")
	return rest
}

func cutWord(text string) (word, rest string) {
	end := strings.IndexFunc(text, func(r rune) bool { return !isWordChar(r) })
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

func isWordChar(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// cutValue reads a value, in quotes or not.
func cutValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		value, rest = cutWord(text)
		if value == "" {
			rest = behindComma(rest)
		}
		return value, rest
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), text[i+1:]
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), ""
}
