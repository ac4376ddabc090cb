package network

import (
	"os"

	"github.com/forkbox/forkbox/internal/network/intercept"
)

// bundles are where distributions keep the certificates that programs trust.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", // Debian, Arch, Alpine
	"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora
	"/etc/ssl/ca-bundle.pem",             // SUSE
	"/etc/ssl/cert.pem",                  // Alpine, too
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
}

// javaStores are where distributions keep those of Java.
var javaStores = []string{"/etc/ssl/certs/java/cacerts", "/etc/pki/ca-trust/extracted/java/cacerts"}

// Where a box finds the certificates that it trusts.
const (
	caFile    = "/etc/forkbox-ca.pem"    // the gate's alone
	trustFile = "/etc/forkbox-trust.pem" // with all others
	javaFile  = "/etc/forkbox-trust.p12" // the same for Java
)

// trustFiles is what execs are told. Java is told only where it has no store of
// the system's, which would be replaced: it announces on stderr whatever it is
// told.
func trustFiles() intercept.TrustFiles {
	files := intercept.TrustFiles{Bundle: trustFile, CA: caFile}
	if len(there(javaStores)) == 0 {
		files.Java = javaFile
	}
	return files
}

func there(paths []string) (list []string) {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			list = append(list, path)
		}
	}
	return list
}

// Trust is the files, by path, that make a box's programs trust its own
// certificate authority beside those that this machine trusts. Only what is
// there is replaced.
func Trust(ca string) map[string][]byte {
	var system []byte
	for _, path := range bundles {
		if raw, err := os.ReadFile(path); err == nil {
			system = raw
			break
		}
	}
	all := intercept.TrustBundle(system, ca)
	files := map[string][]byte{caFile: []byte(ca), trustFile: all}
	for _, path := range there(bundles) {
		files[path] = all
	}
	if store, err := intercept.JavaTrustStore(all); err == nil {
		for _, path := range append(there(javaStores), javaFile) {
			files[path] = store
		}
	}
	return files
}
