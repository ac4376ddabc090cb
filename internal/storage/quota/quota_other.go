//go:build !linux

package quota

// Find says which Holder there is for the trees below a directory, or with a
// [Missing] why there is none.
func Find(string) (Holder, error) {
	return nil, &Missing{Why: "limits on directories are known on Linux only"}
}
