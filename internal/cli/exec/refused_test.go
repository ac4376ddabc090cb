package exec

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func conn(host, addr string, port int) forkbox.Conn {
	t := forkbox.NetTarget{Proto: "tcp", Host: host, Port: port}
	if addr != "" {
		t.Addr = netip.MustParseAddr(addr)
	}
	return forkbox.Conn{State: forkbox.ConnRefused, Time: time.Unix(0, 0), NetVerdict: forkbox.NetVerdict{Target: t, Why: "no rule allows it", Remedy: "forkbox net allow x"}}
}

func TestRefusedPlaces(t *testing.T) {
	denied := conn("denied.example", "", 443)
	denied.Rule = forkbox.NetRule{Rule: "deny denied.example", From: "box"}
	hopeless := conn("floor.example", "", 443)
	hopeless.Remedy = ""
	burst := conn("a.example", "198.19.0.2", 443)
	burst.Times = 5
	udp := conn("ntp.example", "", 123)
	udp.Target.Proto = "udp"
	odd := conn("a b; rm -rf /", "", 80)
	count, places, flags := refusedPlaces([]forkbox.Conn{
		burst, conn("a.example", "198.19.0.3", 443), denied, hopeless, udp, odd, conn("", "192.0.2.7", 25),
		conn("b.example", "", 443), conn("c.example", "", 443), conn("d.example", "", 443),
	})
	if count != 14 {
		t.Errorf("%d attempts", count)
	}
	want := []string{"a.example:443", "denied.example:443", "floor.example:443", "udp ntp.example:123", `"a b; rm -rf /":80`, "192.0.2.7:25",
		"b.example:443", "c.example:443", "d.example:443"}
	if !reflect.DeepEqual(places, want) {
		t.Errorf("%q", places)
	}
	if want := []string{"--allow a.example:443", "--allow udp:ntp.example:123", "--allow b.example:443"}; !reflect.DeepEqual(flags, want) {
		t.Errorf("%q", flags)
	}
}
