//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const javaClient = `import java.net.*; import java.io.*;
public class Get { public static void main(String[] a) throws Exception {
  System.out.println(new BufferedReader(new InputStreamReader(new URL(a[0]).openConnection().getInputStream())).readLine()); } }
`

// TestNetTrust: programs of a box trust the gate where it looks into TLS,
// without being told to.
func TestNetTrust(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host, pinned := w.name("host"), w.name("pinned")
	w.ok(os.WriteFile(filepath.Join(w.root, "Get.java"), []byte(javaClient), 0o644))
	javac := exec.Command("javac", "Get.java")
	javac.Dir = w.root
	if out, err := combined(javac); err != nil {
		t.Fatalf("javac: %v %s", err, out)
	}
	box := w.makeBox("trusting", "--allow", "*."+w.domain, "--terminate", host, "--terminate", pinned, "--pinned", pinned)
	url := "https://" + host + "/"
	for name, argv := range map[string][]string{
		"curl":                   {"curl", "-sSf", url},
		"curl without variables": {"env", "-i", "PATH=/usr/bin:/bin", "curl", "-sSf", url},
		"python":                 {"/usr/bin/python3", "-c", "import urllib.request,sys; print(urllib.request.urlopen(sys.argv[1]).read())", url},
		"node":                   {"node", "-e", `fetch(process.argv[1]).then(r => r.text()).then(console.log)`, url},
		"node's https":           {"node", "-e", `require("https").get(process.argv[1], r => r.pipe(process.stdout))`, url},
		"a Go program":           w.inside("get", url),
		"java":                   {"java", "-cp", w.root, "Get", url},
		"WebSocket":              w.inside("ws", "wss://"+host+"/echo", "hello from the box"),
		"git":                    sh(`rm -rf c; git clone -q https://$1/git/repo.git c; echo "hello from $(cat c/file)"`, host),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out := w.as(t).works(box, argv...); !strings.Contains(out, "hello from") {
				t.Errorf("it says %s", out)
			}
		})
	}
	t.Run("issuers", func(t *testing.T) {
		w := w.as(t)
		issuer := `curl -sSkv https://$1/ 2>&1 | grep -i issuer:`
		if out := w.works(box, sh(issuer, host)...); !strings.Contains(out, "forkbox") {
			t.Errorf("where TLS ends at the gate the issuer is %s", out)
		}
		for _, other := range []string{pinned, w.name("plain")} {
			if out := w.works(box, sh(issuer, other)...); !strings.Contains(out, "the world's authority") {
				t.Errorf("of %s the issuer is %s", other, out)
			}
		}
	})
	t.Run("other boxes do not", func(t *testing.T) {
		w := w.as(t)
		stranger := w.makeBox("stranger", "--allow", host, "--terminate", host)
		one, two := w.works(box, sh(`cat "$SSL_CERT_FILE"`)...), w.works(stranger, sh(`cat "$SSL_CERT_FILE"`)...)
		if one == two {
			t.Error("two boxes trust the same authority")
		}
	})
	t.Run("no change", func(t *testing.T) {
		w := w.as(t)
		fresh := w.makeBox("fresh", "--allow", host, "--terminate", host)
		w.works(fresh, "curl", "-sSf", url)
		if out := w.must("diff", fresh, "--stat"); strings.Contains(out, "ssl") || strings.Contains(out, "cert") {
			t.Errorf("its certificates count as changes: %s", out)
		}
	})
}
