package toolhosts

import "testing"

func TestApt(t *testing.T) {
	w := newWorld(t)
	w.file("etc/apt/sources.list", `# deb http://comment.example.com x main
deb http://deb.example.com/debian stable main
deb-src	http://tab.example.com/debian stable main
deb [arch=amd64 signed-by=/k] https://signed.example.com:8443/x stable main # deb http://no.example.com
deb cdrom:[x]/ stable main
deb file:/srv/mirror stable main
deb mirror+file:/etc/apt/mirrors.txt stable main
deb mirror+https://mirror.example.com/list stable main
deb mirror://oldmirror.example.com/list stable main
nonsense
deb
`)
	w.file("etc/apt/mirrors.txt", "https://m1.example.com/debian\tpriority:1\n\nhttp://m2.example.com/debian\nfile:/x\n")
	w.file("etc/apt/sources.list.d/b.list", "deb http://b.example.com/x ./\n")
	w.file("etc/apt/sources.list.d/a.sources", "Types: deb\nURIs: http://a1.example.com/x https://a2.example.com\n  http://a3.example.com\n# URIs: http://comment.example.com\nSuites: http://no.example.com\n\nuris: mirror+file:///etc/apt/mirrors.txt\n")
	w.file("etc/apt/sources.list.d/c.list.save", "deb http://saved.example.com/x ./\n")
	w.finds(
		"deb.example.com:80 private <- apt (/etc/apt/sources.list)",
		"tab.example.com:80 private <- apt (/etc/apt/sources.list)",
		"signed.example.com:8443 private <- apt (/etc/apt/sources.list)",
		"m1.example.com:443 private <- apt (/etc/apt/mirrors.txt)",
		"m2.example.com:80 private <- apt (/etc/apt/mirrors.txt)",
		"mirror.example.com:443 private <- apt (/etc/apt/sources.list)",
		"oldmirror.example.com:80 private <- apt (/etc/apt/sources.list)",
		"a1.example.com:80 private <- apt (/etc/apt/sources.list.d/a.sources)",
		"a2.example.com:443 private <- apt (/etc/apt/sources.list.d/a.sources)",
		"a3.example.com:80 private <- apt (/etc/apt/sources.list.d/a.sources)",
		"b.example.com:80 private <- apt (/etc/apt/sources.list.d/b.list)",
	)
}

func TestAptProxy(t *testing.T) {
	w := newWorld(t)
	w.file("etc/apt/apt.conf", `// Acquire::http::Proxy "http://c1.example.com";
/* Acquire::http::Proxy
 "http://c2.example.com"; */
# Acquire::http::Proxy "http://c3.example.com";
Acquire::http::Proxy "http://p1.example.com:3142";
acquire::HTTPS::proxy "https://u:p@p2.example.com/";
Acquire::http::Proxy::direct.example.com "DIRECT";
Acquire::Retries "3";
APT::http::Proxy "http://no.example.com";
`)
	w.file("etc/apt/apt.conf.d/99x", "Acquire {\n http { Proxy \"http://p3.example.com:1\"; Timeout \"5\"; };\n https { Proxy \"http://p4.example.com:2\"; };\n}; } Acquire::ftp { Proxy::x \"http://p5.example.com:3\"; };")
	w.finds("p1.example.com:3142 private <- apt (/etc/apt/apt.conf)", "p2.example.com:443 private <- apt (/etc/apt/apt.conf)", "p3.example.com:1 private <- apt (/etc/apt/apt.conf.d/99x)",
		"p4.example.com:2 private <- apt (/etc/apt/apt.conf.d/99x)", "p5.example.com:3 private <- apt (/etc/apt/apt.conf.d/99x)")
}
