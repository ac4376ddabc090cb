package servicetest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// Nginx starts one whose workers serve a page with a text. alone says that it does
// not go to the background because its configuration says so.
func Nginx(t *testing.T, below, text string, alone bool) *Server {
	t.Helper()
	s := newServer(t, below, "nginx")
	for _, dir := range []string{"logs", "page"} {
		MakeDir(t, filepath.Join(s.Dir, dir))
	}
	ok(t, os.WriteFile(filepath.Join(s.Dir, "page", "index.html"), []byte(text), 0o644))
	config := fmt.Sprintf(`worker_processes 2;
pid logs/pid;
error_log logs/error.log;
events {}
http {
  access_log logs/access.log;
  client_body_temp_path logs/a; proxy_temp_path logs/b; fastcgi_temp_path logs/c; uwsgi_temp_path logs/d; scgi_temp_path logs/e;
  server { listen 127.0.0.1:%s; root page; }
}
`, s.Port)
	argv := []string{"nginx", "-p", s.Dir, "-c", "nginx.conf", "-e", "logs/error.log"}
	if alone {
		config = "daemon off;\n" + config
	} else {
		argv = append(argv, "-g", "daemon off;")
	}
	ok(t, os.WriteFile(filepath.Join(s.Dir, "nginx.conf"), []byte(config), 0o644))
	return s.start(s.knock, argv...)
}

// Memcached starts one.
func Memcached(t *testing.T, below string) *Server {
	t.Helper()
	s := newServer(t, below, "memcached")
	return s.start(s.knock, "memcached", "-l", "127.0.0.1", "-p", s.Port)
}

// Node starts a development server of Node's that counts its requests in memory.
func Node(t *testing.T, below string) *Server {
	t.Helper()
	s := newServer(t, below, "node")
	const program = `let n = 0
require('http').createServer((_, r) => r.end('node ' + ++n)).listen(+process.argv[2], '127.0.0.1')
`
	ok(t, os.WriteFile(filepath.Join(s.Dir, "server.js"), []byte(program), 0o644))
	return s.start(s.knock, "node", "server.js", s.Port)
}

// Python starts the server that Python comes with, for the files of its directory.
func Python(t *testing.T, below, text string) *Server {
	t.Helper()
	s := newServer(t, below, "python")
	ok(t, os.WriteFile(filepath.Join(s.Dir, "index.html"), []byte(text), 0o644))
	return s.start(s.knock, "python3", "-m", "http.server", "--bind", "127.0.0.1", s.Port)
}

// Get asks the machine's own server for its page.
func (s *Server) Get() string {
	s.t.Helper()
	r, err := http.Get("http://127.0.0.1:" + s.Port + "/")
	ok(s.t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	ok(s.t, err)
	return string(text)
}

// Tell says something to the machine's own server, and does not wait for an answer.
func (s *Server) Tell(text string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+s.Port)
	ok(s.t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	ok(s.t, err)
}
