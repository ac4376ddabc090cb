package egress

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

var ZZ struct {
	sync.Mutex
	t map[string][]time.Duration
}
var zzRead, zzSA time.Time

func zz(name string, from time.Time) time.Time {
	now := time.Now()
	ZZ.Lock()
	if ZZ.t == nil { ZZ.t = map[string][]time.Duration{} }
	ZZ.t[name] = append(ZZ.t[name], now.Sub(from))
	ZZ.Unlock()
	return now
}
func ZZPrint() {
	ZZ.Lock()
	var ks []string
	for k, v := range ZZ.t {
		sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
		ks = append(ks, fmt.Sprintln(k, v[len(v)/2], v[len(v)*9/10], len(v)))
	}
	sort.Strings(ks)
	fmt.Println(ks)
	ZZ.t = nil
	ZZ.Unlock()
}
