package services

import (
	"reflect"
	"strings"
	"testing"
)

const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105        0 2001 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1538 0100007F:9C40 01 00000000:00000000 00:00000000 00000000   105        0 2002 1 0000000000000000 100 0 0 10 0
   2: garbage
   3: 0100007F:XYZ 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105        0 2003 1 0 100 0 0 10 0
`

func TestListenersOfTCP(t *testing.T) {
	got := map[string]listener{}
	if err := readTCP(strings.NewReader(tcp), got); err != nil {
		t.Fatal(err)
	}
	if want := map[string]listener{"2001": {port: 5432}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

const unixSockets = `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 3001 /run/post gres/.s.PGSQL.5432
0000000000000000: 00000002 00000000 00000000 0001 03 3002 /run/connected
0000000000000000: 00000002 00000000 00010000 0001 01 3003 @abstract
0000000000000000: 00000002 00000000 00010000 0001 01 3004
`

func TestListenersOfUnix(t *testing.T) {
	got := map[string]listener{}
	if err := readUnix(strings.NewReader(unixSockets), got); err != nil {
		t.Fatal(err)
	}
	if want := map[string]listener{"3001": {path: "/run/post gres/.s.PGSQL.5432"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// What is in /proc may be anything that a program chose: it is read or passed
// over.
func FuzzListeners(f *testing.F) {
	f.Add(tcp)
	f.Add(unixSockets)
	f.Fuzz(func(t *testing.T, text string) {
		got := map[string]listener{}
		_ = readTCP(strings.NewReader(text), got)
		for _, l := range got {
			if l.port < 1 || l.port > 65535 {
				t.Errorf("port %d", l.port)
			}
		}
		clear(got)
		_ = readUnix(strings.NewReader(text), got)
		for _, l := range got {
			if !strings.HasPrefix(l.path, "/") {
				t.Errorf("path %q", l.path)
			}
		}
	})
}
