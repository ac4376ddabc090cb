//go:build !unix

package ingress

func affordable() int { return 512 }
