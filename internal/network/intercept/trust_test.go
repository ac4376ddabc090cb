package intercept

import (
	"os"
	"strings"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/forkbox/forkbox"
)

func TestTrustBundle(t *testing.T) {
	_, boxPEM := madeCA(t, "box")
	_, systemPEM := madeCA(t, "system")
	bundle := TrustBundle([]byte(systemPEM), strings.TrimSuffix(boxPEM, "\n"))
	want(t, "bundle", string(bundle), boxPEM+systemPEM)
	want(t, "without a system", string(TrustBundle(nil, boxPEM)), boxPEM)
}

func TestJavaTrustStoreHasEach(t *testing.T) {
	_, a := madeCA(t, "same")
	_, b := madeCA(t, "same") // of the same name, and both must be in it
	rubbish := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN X-----\nAAAA\n-----END X-----\n# text\n"
	store, err := JavaTrustStore([]byte(a + rubbish + b))
	must(t, err)
	certs, err := pkcs12.DecodeTrustStore(store, "")
	must(t, err)
	want(t, "certificates", len(certs), 2)
	_, err = JavaTrustStore([]byte(rubbish))
	want(t, "code without any", forkbox.CodeOf(err), forkbox.Invalid)
}

func TestEnvironment(t *testing.T) {
	files := TrustFiles{Bundle: "/b.pem", CA: "/ca.pem", Java: "/j.p12"}
	env := Environment(files, func(name string) string { return map[string]string{"JAVA_TOOL_OPTIONS": "-Xmx1g"}[name] })
	for name, value := range map[string]string{
		"SSL_CERT_FILE": "/b.pem", "REQUESTS_CA_BUNDLE": "/b.pem", "GIT_SSL_CAINFO": "/b.pem", "CURL_CA_BUNDLE": "/b.pem", "PIP_CERT": "/b.pem",
		"CARGO_HTTP_CAINFO": "/b.pem", "NODE_EXTRA_CA_CERTS": "/ca.pem", "DENO_CERT": "/ca.pem",
		"JAVA_TOOL_OPTIONS": "-Xmx1g -Djavax.net.ssl.trustStore=/j.p12 -Djavax.net.ssl.trustStoreType=PKCS12",
	} {
		want(t, name, env[name], value)
	}
	own := "-Djavax.net.ssl.trustStore=/mine"
	want(t, "a store of its own", Environment(files, func(string) string { return own })["JAVA_TOOL_OPTIONS"], own)
	files.Java = ""
	if _, there := Environment(files, os.Getenv)["JAVA_TOOL_OPTIONS"]; there {
		t.Error("Java is told of a store that is not there")
	}
}
