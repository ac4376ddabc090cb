package providertest

import (
	"bufio"
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

var apartStories = []story{
	{name: "Files", run: filesApart},
	{name: "Processes", run: processesApart},
	{name: "HostName", run: hostName},
	{name: "RealityIsUntouched", run: realityUntouched},
}

func filesApart(t *testing.T, l *Lab) {
	dir := Tree(t, map[string]string{"shared": "base\n"})
	a, b := l.Start(l.Box()), l.Start(l.Box())
	a.Sh("echo a >" + dir + "/shared; echo a >" + dir + "/own")
	if got := b.Sh("cat " + dir + "/shared; ls " + dir); got != "base\nshared" {
		t.Errorf("the other box sees %q", got)
	}
}

func processesApart(t *testing.T, l *Lab) {
	a, b := l.Start(l.Box()), l.Start(l.Box())
	id, _ := a.begin("echo ready; exec sleep 7654")
	if seen := b.commands(); strings.Contains(seen, "7654") {
		t.Errorf("the other box sees %q", seen)
	}
	if got := b.Sh("grep -al 765[4] /proc/[0-9]*/cmdline || true"); got != "" {
		t.Errorf("the other box sees %q", got)
	}
	_ = a.Instance.Kill(context.Background(), id, 0)
}

func hostName(t *testing.T, l *Lab) {
	r := l.Start(l.Box(func(b *forkbox.Box) { b.Name = "brave-otter" }))
	if got := r.Sh("hostname; cat /etc/hostname; getent hosts brave-otter | awk '{print $2}'"); got != "brave-otter\nbrave-otter\nbrave-otter" {
		t.Errorf("the box is called %q", got)
	}
}

func realityUntouched(t *testing.T, l *Lab) {
	dir := Tree(t, map[string]string{"a": "a", "sub/b": "b"})
	r := l.Start(l.Box())
	r.Sh("rm -rf " + dir + "; mkdir " + dir + "; echo other >" + dir + "/c")
	for path, want := range map[string]string{"a": "a", "sub/b": "b", "c": ""} {
		if got, _ := os.ReadFile(dir + "/" + path); string(got) != want {
			t.Errorf("%s in reality holds %q", path, got)
		}
	}
}

var networkStories = []story{
	{name: "SamePortInTwoBoxes", run: samePort},
	{name: "HostIsOutOfReach", run: hostOutOfReach},
}

func samePort(t *testing.T, l *Lab) {
	const address = "127.0.0.1:5432"
	for _, name := range []string{"one", "two"} {
		r := l.Start(l.Box())
		theirs, ours := l.Pipes()
		t.Cleanup(ours.Close)
		if err := r.Exec(r.ID(), forkbox.ExecSpec{Argv: Tool("listen", address, name)}, theirs, logCap); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(ours.Out).ReadString('\n'); line != "listening\n" {
			t.Fatalf("%s: %q, %v", name, line, err)
		}
		got := r.Run(forkbox.ExecSpec{Argv: []string{"bash", "-c", "cat </dev/tcp/127.0.0.1/5432"}}, nil)
		if got.Stdout != name {
			t.Errorf("%s was answered %q %q", name, got.Stdout, got.Stderr)
		}
	}
}

func hostOutOfReach(t *testing.T, l *Lab) {
	host := listener(t)
	r := l.Start(l.Box())
	r.Fails("exec bash -c 'cat </dev/tcp/127.0.0.1/" + host + "'")
}

// listener is a port of the host that answers.
func listener(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
