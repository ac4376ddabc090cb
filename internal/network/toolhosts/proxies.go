package toolhosts

import "strings"

// proxies are those that the environment has all programs use.
func proxies(f *finder) {
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "ftp_proxy"} {
		value, as := f.either(name)
		f.addProxy(source{"proxy", as, true}, value)
	}
}

// addProxy takes a proxy, which is often written without a scheme.
func (f *finder) addProxy(from source, url string) {
	if url != "" && !strings.Contains(url, "://") {
		url = "http://" + url
	}
	f.add(from, url)
}
