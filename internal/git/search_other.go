//go:build !unix

package git

func (Repo) trusts(string) bool { return true }
