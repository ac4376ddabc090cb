package scope

// named are the classes of bytes that patterns can name, as git knows them:
// of ASCII only, and with no vertical tab or form feed among the spaces.
var named = map[string]func(b byte) bool{
	"alnum":  func(b byte) bool { return isAlpha(b) || isDigit(b) },
	"alpha":  isAlpha,
	"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b byte) bool { return b < 0x20 || b == 0x7f },
	"digit":  isDigit,
	"graph":  func(b byte) bool { return b > ' ' && b < 0x7f },
	"lower":  isLower,
	"print":  func(b byte) bool { return b >= ' ' && b < 0x7f },
	"punct":  func(b byte) bool { return b > ' ' && b < 0x7f && !isAlpha(b) && !isDigit(b) },
	"space":  func(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' },
	"upper":  isUpper,
	"xdigit": func(b byte) bool { return isDigit(b) || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F' },
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
func isLower(b byte) bool { return b >= 'a' && b <= 'z' }
func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }
func isAlpha(b byte) bool { return isLower(b) || isUpper(b) }

// addNamed is false for a name that is not known.
func (s *set) addNamed(name string) bool {
	in, ok := named[name]
	if !ok {
		return false
	}
	for b := range 256 {
		if in(byte(b)) {
			s.add(byte(b))
		}
	}
	return true
}
