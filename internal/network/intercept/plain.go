package intercept

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
)

// What a record has at most of each. A box says as much as it likes, and records
// are kept for a long time.
const (
	mostHost   = 255
	mostMethod = 32
	mostPath   = 512
	mostWhy    = 1024
	mostRemedy = 1024
)

// plainVerdict is one that can be kept and printed: short, and without control
// characters. A remedy that was cut would be another one, so it is left out.
func plainVerdict(v forkbox.NetVerdict) forkbox.NetVerdict {
	v.Target = plainTarget(v.Target)
	v.Why = plainText(v.Why, mostWhy)
	if plainText(v.Remedy, mostRemedy) != v.Remedy {
		v.Remedy = ""
	}
	return v
}

func plainTarget(t forkbox.NetTarget) forkbox.NetTarget {
	t.Host, t.Method, t.Path = plainText(t.Host, mostHost), plainText(t.Method, mostMethod), plainText(t.Path, mostPath)
	return t
}

// plainText escapes what cannot be printed, and cuts what is too long.
func plainText(text string, most int) string {
	const more = "…"
	cut := text[:min(len(text), most+1)]
	if !utf8.ValidString(cut) || strings.ContainsFunc(cut, func(r rune) bool { return !strconv.IsPrint(r) }) {
		quoted := strconv.QuoteToASCII(cut)
		cut = quoted[1 : len(quoted)-1]
	}
	if len(cut) <= most {
		return cut
	}
	return strings.ToValidUTF8(cut[:most-len(more)], "") + more
}
