package intercept

import "strings"

// TrustFiles are where a box finds whom to trust, as paths in the box.
type TrustFiles struct {
	Bundle string // what TrustBundle made
	CA     string // the box's CA alone, for programs that add it to their own
	Java   string // what JavaTrustStore made; may be empty
}

// Environment is the variables that make programs trust the box's CA beside what
// the system trusts. Programs that go by the system's files need none of them.
// had is the environment so far: Java's options are added to what is there.
func Environment(files TrustFiles, had func(name string) string) map[string]string {
	env := map[string]string{
		"NODE_EXTRA_CA_CERTS": files.CA,
		"DENO_CERT":           files.CA,
	}
	for _, name := range []string{
		"SSL_CERT_FILE",      // OpenSSL, Go, Ruby, rustls, uv
		"REQUESTS_CA_BUNDLE", // Python's requests, which brings its own list
		"PIP_CERT", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE",
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	} {
		env[name] = files.Bundle
	}
	if files.Java != "" {
		env["JAVA_TOOL_OPTIONS"] = javaOptions(files.Java, had("JAVA_TOOL_OPTIONS"))
	}
	return env
}

// javaOptions leaves a trust store alone that somebody chose for Java itself.
// JAVA_TOOL_OPTIONS is the one variable that every JVM reads, also those that
// are started by a build tool; each says so in a line on stderr.
func javaOptions(store, had string) string {
	if strings.Contains(had, "javax.net.ssl.trustStore=") {
		return had
	}
	return strings.TrimSpace(had + " -Djavax.net.ssl.trustStore=" + store + " -Djavax.net.ssl.trustStoreType=PKCS12")
}
