// Pack makes a directory that the go command takes for a module proxy, from
// the sources of the versions of one module. With it there are modules to
// download without a network.
//
//	pack MODULE SOURCES PROXY
package main

import (
	"archive/zip"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: pack MODULE SOURCES PROXY")
	}
	module, sources := os.Args[1], os.Args[2]
	proxy := filepath.Join(os.Args[3], module, "@v")
	check(os.MkdirAll(proxy, 0o755))
	versions, err := os.ReadDir(sources)
	check(err)
	var list strings.Builder
	for _, v := range versions {
		pack(module, v.Name(), filepath.Join(sources, v.Name()), filepath.Join(proxy, v.Name()))
		fmt.Fprintln(&list, v.Name())
	}
	check(os.WriteFile(filepath.Join(proxy, "list"), []byte(list.String()), 0o644))
}

// pack writes the three files that a proxy has of a version.
func pack(module, version, source, target string) {
	info := fmt.Sprintf("{\"Version\": %q, \"Time\": \"2026-01-01T00:00:00Z\"}\n", version)
	check(os.WriteFile(target+".info", []byte(info), 0o644))
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	check(err)
	check(os.WriteFile(target+".mod", mod, 0o644))
	archive, err := os.Create(target + ".zip")
	check(err)
	w := zip.NewWriter(archive)
	files, err := os.ReadDir(source)
	check(err)
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(source, f.Name()))
		check(err)
		entry, err := w.Create(module + "@" + version + "/" + f.Name())
		check(err)
		_, err = entry.Write(text)
		check(err)
	}
	check(w.Close())
	check(archive.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
