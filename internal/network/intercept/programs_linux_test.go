package intercept

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// program is a real program in the box's place: it has the variables that make it
// trust the box's CA, and nothing else of ours.
func (w *world) program(dir string, args ...string) string {
	w.Helper()
	out, err := w.tryProgram(dir, args...)
	if err != nil {
		w.Fatalf("%q: %v\n%s", args, err, out)
	}
	return out
}

func (w *world) tryProgram(dir string, args ...string) (string, error) {
	w.Helper()
	path, err := exec.LookPath(args[0])
	if err != nil {
		w.Skipf("%s is not installed", args[0])
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LANG=C.UTF-8"}
	for name, value := range Environment(w.trustFiles(dir), func(string) string { return "" }) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// trustFiles are as a box has them, beside the system's own where it has any.
func (w *world) trustFiles(dir string) TrustFiles {
	files := TrustFiles{Bundle: filepath.Join(dir, "bundle.pem"), CA: filepath.Join(dir, "ca.pem"), Java: filepath.Join(dir, "java.p12")}
	system, _ := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	bundle := TrustBundle(system, w.caPEM)
	store, err := JavaTrustStore(bundle)
	must(w, err)
	must(w, os.WriteFile(files.Bundle, bundle, 0o644))
	must(w, os.WriteFile(files.CA, []byte(w.caPEM), 0o644))
	must(w, os.WriteFile(files.Java, store, 0o644))
	return files
}

func (w *world) resolve() string { return fmt.Sprintf("%s:%d:127.0.0.1", testHost, w.port()) }

// echoServer repeats what it is sent, credentials included.
func echoServer(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).EnableFullDuplex()
	fmt.Fprintf(w, "%s %s %s auth=%s\n", r.Proto, r.Method, r.URL.Path, r.Header.Get("Authorization"))
	_, _ = io.Copy(w, r.Body)
}

func TestCurl(t *testing.T) {
	w := newWorld(t, setup{secrets: bound(testHost)}, echoServer)
	dir := t.TempDir()
	upload := filepath.Join(dir, "upload")
	must(t, os.WriteFile(upload, []byte(strings.Repeat("0123456789", 200000)), 0o600))
	curl := []string{"curl", "-sS", "--compressed", "--resolve", w.resolve(), "-H", "Authorization: Bearer " + placeholder}
	for _, version := range []string{"--http1.1", "--http2"} {
		out := w.program(dir, append(curl, version, w.url("/get"))...)
		wantIn(t, out, "GET /get auth=Bearer "+placeholder)
		out = w.program(dir, append(curl, version, "-T", upload, w.url("/put"))...)
		want(t, "length of what came back", len(out) > 2000000, true)
		out = w.program(dir, append(curl, version, "-u", "user:"+placeholder, w.url("/basic"))...)
		wantIn(t, out, placeholder)
		w.program(dir, append(curl, version, "-I", w.url("/head"))...)
	}
	out, err := w.tryProgram(dir, "curl", "-sS", "--resolve", w.resolve(), "--cacert", "/dev/null", w.url("/"))
	if err == nil {
		t.Errorf("curl trusts the box's CA without being told to: %s", out)
	}
	w.clean(out)
}

func TestPython(t *testing.T) {
	w := newWorld(t, setup{secrets: bound(testHost)}, echoServer)
	out := w.program(t.TempDir(), "/usr/bin/python3", "-c", `
import socket, sys, urllib.request
real = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: real("127.0.0.1", *rest, **more)
request = urllib.request.Request(sys.argv[1], data=b"x" * 100000, headers={"Authorization": "Bearer " + sys.argv[2]})
print(urllib.request.urlopen(request).read()[:200].decode())
try:
    urllib.request.urlopen(urllib.request.Request(sys.argv[1], headers={"Host": "evil.example.net"}))
except urllib.error.HTTPError as e:
    print(e.code, e.read().decode())
`, w.url("/python"), placeholder)
	wantIn(t, out, "POST /python auth=Bearer "+placeholder, "421 forkbox: cannot GET")
	w.clean(out)
}

func TestNode(t *testing.T) {
	w := newWorld(t, setup{secrets: bound(testHost)}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/socket" {
			websocket.Server{Handler: echoMessages}.ServeHTTP(w, r)
			return
		}
		echoServer(w, r)
	})
	out := w.program(t.TempDir(), "node", "-e", `
const https = require("https"), http2 = require("http2"), [url, token] = process.argv.slice(1);
const lookup = (host, options, done) => options.all ? done(null, [{address: "127.0.0.1", family: 4}]) : done(null, "127.0.0.1", 4);
const headers = {authorization: "Bearer " + token};
https.get(url + "/node", {lookup, headers}, answer => {
  answer.on("data", d => console.log(String(d))).on("end", second);
});
function second() {
  const session = http2.connect(url, {lookup});
  const stream = session.request({":path": "/node2", ...headers});
  stream.on("response", h => console.log("status", h[":status"])).on("data", d => console.log(String(d))).on("end", () => { session.close(); third(); });
  stream.end();
}
function third() {
  const upgrade = {connection: "Upgrade", upgrade: "websocket", origin: "http://x/", "sec-websocket-version": 13, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="};
  https.get(url + "/socket", {lookup, headers: upgrade}).on("upgrade", (answer, socket) => {
    socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
    socket.on("data", d => { console.log("frame", d.toString("hex")); socket.end(); });
  });
}
`, strings.TrimSuffix(w.url(""), "/"), placeholder)
	wantIn(t, out, "HTTP/1.1 GET /node auth=Bearer "+placeholder, "status 200", "HTTP/2.0 GET /node2 auth=Bearer "+placeholder, "frame 81026869")
	w.clean(out)
}

// git clones from and pushes to a server that wants the real password.
func TestGit(t *testing.T) {
	w := newWorld(t, setup{secrets: bound(testHost)}, gitServer(t))
	dir := t.TempDir()
	git := func(args ...string) string {
		return w.program(dir, append([]string{"git", "-c", "http.curloptResolve=" + w.resolve(), "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main", "-c", "http.postBuffer=65536"}, args...)...)
	}
	remote := strings.Replace(w.url("/repo.git"), "://", "://x-access-token:"+placeholder+"@", 1)
	work := filepath.Join(dir, "work")
	git("clone", remote, work)
	big := make([]byte, 3<<20) // more than git sends at once, and nothing that shrinks
	for n, x := 0, uint32(1); n < len(big); n++ {
		x = x*1664525 + 1013904223
		big[n] = byte(x >> 24)
	}
	must(t, os.WriteFile(filepath.Join(work, "big"), big, 0o600))
	git("-C", work, "add", ".")
	git("-C", work, "commit", "-q", "-m", "big")
	git("-C", work, "push", "origin", "HEAD:main")
	again := filepath.Join(dir, "again")
	git("clone", "-q", "-b", "main", remote, again)
	got, err := os.ReadFile(filepath.Join(again, "big"))
	must(t, err)
	want(t, "what was pushed comes back", string(got) == string(big), true)

	bare := strings.Replace(w.url("/repo.git"), "://", "://x-access-token:wrong@", 1)
	if out, err := w.tryProgram(dir, "git", "-c", "http.curloptResolve="+w.resolve(), "ls-remote", bare); err == nil {
		t.Errorf("a wrong password is good enough: %s", out)
	}
	w.clean()
}

func gitServer(t *testing.T) http.HandlerFunc {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	where, err := exec.Command(git, "--exec-path").Output()
	must(t, err)
	root := t.TempDir()
	repo := filepath.Join(root, "repo.git")
	for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", repo}, {"-C", repo, "config", "http.receivepack", "true"}} {
		out, err := exec.Command(git, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"), Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root, "REMOTE_USER=x"}}
	return func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "x-access-token" || password != testValue {
			w.Header().Set("Www-Authenticate", `Basic realm="x"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		// CGI does not know bodies of unknown length.
		if r.ContentLength < 0 {
			body, _ := io.ReadAll(r.Body)
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(strings.NewReader(string(body))), int64(len(body)), nil
			r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		}
		backend.ServeHTTP(w, r)
	}
}

func TestJava(t *testing.T) {
	w := newWorld(t, setup{secrets: bound(testHost)}, echoServer)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "hosts"), []byte("127.0.0.1 "+testHost+"\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "Ask.java"), []byte(`
import java.net.*;
import java.net.http.*;
public class Ask {
  public static void main(String[] args) throws Exception {
    HttpURLConnection c = (HttpURLConnection) new URL(args[0] + "/old").openConnection();
    c.setRequestProperty("Authorization", "Bearer " + args[1]);
    System.out.println(new String(c.getInputStream().readAllBytes()));
    HttpRequest r = HttpRequest.newBuilder(URI.create(args[0] + "/new")).header("Authorization", "Bearer " + args[1]).build();
    System.out.println(HttpClient.newHttpClient().send(r, HttpResponse.BodyHandlers.ofString()).body());
  }
}
`), 0o600))
	out := w.program(dir, "java", "-Djdk.net.hosts.file="+filepath.Join(dir, "hosts"), filepath.Join(dir, "Ask.java"), strings.TrimSuffix(w.url(""), "/"), placeholder)
	wantIn(t, out, "HTTP/1.1 GET /old auth=Bearer "+placeholder, "HTTP/1.1 GET /new auth=Bearer "+placeholder)

	out = w.program(dir, "keytool", "-list", "-storetype", "PKCS12", "-keystore", filepath.Join(dir, "java.p12"), "-storepass", "")
	wantIn(t, out, "trustedCertEntry", "forkbox box box")
	w.clean()
}
