//go:build !unix

package stdio

func CallerUmask() *int { return nil }
