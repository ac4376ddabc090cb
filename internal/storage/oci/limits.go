package oci

// Limits bound what an archive may make of itself. A zero means the default.
type Limits struct {
	Bytes   int64 // in all, decompressed
	Entries int64
	Name    int   // bytes of one path
	Header  int64 // bytes of what one entry says of itself
	// Ratio is how much larger the content may be than the archive, looked at
	// once there are RatioFrom bytes of it.
	Ratio     int64
	RatioFrom int64
}

// DefaultLimits let every image through that people make on purpose.
var DefaultLimits = Limits{
	Bytes:   128 << 30,
	Entries: 10_000_000,
	Name:    4095, // the kernel's own for a path
	Header:  1 << 20,
	Ratio:   1000, RatioFrom: 1 << 30,
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	l.Bytes = positive(l.Bytes, d.Bytes)
	l.Entries = positive(l.Entries, d.Entries)
	l.Name = positive(l.Name, d.Name)
	l.Header = positive(l.Header, d.Header)
	l.Ratio = positive(l.Ratio, d.Ratio)
	l.RatioFrom = positive(l.RatioFrom, d.RatioFrom)
	return l
}

func positive[N int | int64](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}
