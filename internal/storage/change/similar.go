package change

import (
	"cmp"
	"slices"
)

// chunk is a line, or 64 bytes of a longer one, and how many bytes of the
// file are such.
type chunk struct{ hash, bytes uint32 }

// fingerprint is what a file consists of, whatever the order: sorted by hash.
// Git measures similarity by the same pieces.
type fingerprint []chunk

// chunkSize is where a long line is cut.
const chunkSize = 64

// fingerprintOf cuts a file into pieces. In text a line end is the same with
// and without a carriage return.
func fingerprintOf(data []byte, text bool) fingerprint {
	var all fingerprint
	const offset, prime = 2166136261, 16777619 // FNV-1a
	hash, n := uint32(offset), uint32(0)
	for i, b := range data {
		if text && b == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			continue
		}
		hash, n = (hash^uint32(b))*prime, n+1
		if n == chunkSize || b == '\n' {
			all = append(all, chunk{hash, n})
			hash, n = offset, 0
		}
	}
	if n > 0 {
		all = append(all, chunk{hash, n})
	}
	return all.merged()
}

// merged sorts the pieces and makes equal ones one.
func (f fingerprint) merged() fingerprint {
	slices.SortFunc(f, func(a, b chunk) int { return cmp.Compare(a.hash, b.hash) })
	out := f[:0]
	for _, c := range f {
		if n := len(out); n > 0 && out[n-1].hash == c.hash {
			out[n-1].bytes += c.bytes
		} else {
			out = append(out, c)
		}
	}
	return slices.Clip(slices.Clone(out))
}

// common is how many bytes the two have in common.
func (f fingerprint) common(g fingerprint) (n int64) {
	for len(f) > 0 && len(g) > 0 {
		switch a, b := f[0], g[0]; {
		case a.hash < b.hash:
			f = f[1:]
		case a.hash > b.hash:
			g = g[1:]
		default:
			n += int64(min(a.bytes, b.bytes))
			f, g = f[1:], g[1:]
		}
	}
	return n
}

// fullScore stands for all of a file, as in git: finer than percent, so that
// the better of two is chosen.
const fullScore = 60000

// similarity is how much of the larger of two files is in the other.
func similarity(a, b *candidate) int {
	larger := max(a.size, b.size)
	if a.print == nil || b.print == nil || min(a.size, b.size)*2 < larger {
		return 0
	}
	return int(a.print.common(b.print) * fullScore / larger)
}
