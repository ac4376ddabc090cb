package gate

import (
	"strings"

	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// helloName is the name that a ClientHello asks for. Empty: it names none.
func helloName(head []byte) (string, error) {
	name, err := tlshello.Name(head, peekMost)
	return canonical(name), err
}

// canonical is a name as pins and policies have it.
func canonical(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }
