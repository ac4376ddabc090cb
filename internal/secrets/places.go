package secrets

import (
	"path/filepath"
	"slices"
	"strings"
)

// instead are variables that move a part of the home directory elsewhere. What
// is hidden below that part is hidden there as well.
var instead = map[string]string{
	"HOME":                    ".",
	"XDG_CONFIG_HOME":         ".config",
	"XDG_DATA_HOME":           ".local/share",
	"XDG_CACHE_HOME":          ".cache",
	"GNUPGHOME":               ".gnupg",
	"PASSWORD_STORE_DIR":      ".password-store",
	"AZURE_CONFIG_DIR":        ".azure",
	"CLOUDSDK_CONFIG":         ".config/gcloud",
	"BOTO_CONFIG":             ".boto",
	"TF_CLI_CONFIG_FILE":      ".terraformrc",
	"PULUMI_HOME":             ".pulumi",
	"DOCKER_CONFIG":           ".docker",
	"GH_CONFIG_DIR":           ".config/gh",
	"GLAB_CONFIG_DIR":         ".config/glab-cli",
	"NETRC":                   ".netrc",
	"NPM_CONFIG_USERCONFIG":   ".npmrc",
	"npm_config_userconfig":   ".npmrc",
	"POETRY_CONFIG_DIR":       ".config/pypoetry",
	"CARGO_HOME":              ".cargo",
	"GRADLE_USER_HOME":        ".gradle",
	"COMPOSER_HOME":           ".composer",
	"PGPASSFILE":              ".pgpass",
	"MYSQL_TEST_LOGIN_FILE":   ".mylogin.cnf",
	"CLAUDE_CONFIG_DIR":       ".claude",
	"CODEX_HOME":              ".codex",
	"HF_HOME":                 ".cache/huggingface",
	"HF_TOKEN_PATH":           ".cache/huggingface/token",
	"PULUMI_CREDENTIALS_PATH": ".pulumi",
}

// files are variables that name credentials, one or several with colons between
// them, and what these are.
var files = map[string]string{
	"KUBECONFIG":                     "Kubernetes credentials",
	"AWS_SHARED_CREDENTIALS_FILE":    "AWS credentials",
	"AWS_CONFIG_FILE":                "AWS credentials",
	"AWS_WEB_IDENTITY_TOKEN_FILE":    "AWS credentials",
	"AZURE_FEDERATED_TOKEN_FILE":     "Azure credentials",
	"GOOGLE_APPLICATION_CREDENTIALS": "Google Cloud credentials",
	"OCI_CLI_CONFIG_FILE":            "Oracle Cloud credentials",
	"HCLOUD_CONFIG":                  "Hetzner Cloud token",
	"RCLONE_CONFIG":                  "rclone remotes",
	"REGISTRY_AUTH_FILE":             "registry logins",
	"SOPS_AGE_KEY_FILE":              "age keys of sops",
	"CREDENTIALS_DIRECTORY":          "credentials of a service",
	"KRB5CCNAME":                     "Kerberos tickets",
	"KRB5_KTNAME":                    "Kerberos keys",
	"XAUTHORITY":                     "the key to a display",
}

// Places are the variables of an environment that name where credentials lie, as
// NAME=PATH with absolute paths, but for those that name the usual place in home.
// dir is what relative paths are relative to. A variable of credentials that
// allow names is passed to a box, with what it leads to.
func Places(env []string, home, dir string, allow []string) (places []string) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || len(value) > maxPlace || strings.ContainsRune(value, 0) {
			continue
		}
		if usual, ok := instead[name]; ok {
			if path := absolute(value, dir); path != "" && path != filepath.Join(home, usual) {
				places = append(places, name+"="+path)
			}
		} else if files[name] != "" && !slices.Contains(allow, name) {
			if list := allAbsolute(value, dir); list != "" {
				places = append(places, name+"="+list)
			}
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// maxPlace is how long a value is that can be a path, or some.
const maxPlace = 4096

func absolute(path, dir string) string {
	switch {
	case path == "":
		return ""
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case filepath.IsAbs(dir):
		return filepath.Join(dir, path)
	}
	return ""
}

func allAbsolute(list, dir string) string {
	var paths []string
	for _, kind := range []string{"FILE:", "DIR:", "WRFILE:"} { // as Kerberos says it
		list = strings.TrimPrefix(list, kind)
	}
	for path := range strings.SplitSeq(list, ":") {
		if path = absolute(path, dir); path != "" {
			paths = append(paths, path)
		}
	}
	return strings.Join(paths, ":")
}

// Named lists what is hidden because variables name it. Directories that lead
// to one of keep, or that all users share, are not hidden as a whole: a box
// without its workspace, or without /etc, is not what such a variable asks for.
func Named(places, keep []string) (entries []Entry) {
	dirs := realDirs{}
	for _, k := range keep {
		if real := dirs.of(k); real != k {
			keep = append(slices.Clone(keep), real)
		}
	}
	for _, place := range places {
		name, value, _ := strings.Cut(place, "=")
		if usual, ok := instead[name]; ok {
			entries = append(entries, moved(value, usual, dirs)...)
			continue
		}
		for path := range strings.SplitSeq(value, ":") {
			if e, ok := look(known{why: files[name]}, path, filepath.Dir(path), dirs); ok {
				entries = append(entries, e)
			}
		}
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return shared(e.Path, keep) || shared(e.Target, keep) })
}

// moved lists what is hidden of a part of a home directory that lies at path.
func moved(path, part string, dirs realDirs) (entries []Entry) {
	if !filepath.IsAbs(path) {
		return nil
	}
	for _, k := range inHome {
		rel, err := filepath.Rel(part, k.path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		home := path
		if rel == "." {
			home = filepath.Dir(path) // it is the secret, and no directory of them
		}
		if e, ok := look(k, filepath.Join(path, rel), home, dirs); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// everybodys are directories that programs cannot do without.
var everybodys = []string{
	"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin",
	"/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/share", "/var", "/var/lib", "/var/tmp",
}

func shared(path string, keep []string) bool {
	return path == "/" || slices.Contains(everybodys, path) ||
		slices.ContainsFunc(keep, func(k string) bool { return filepath.IsAbs(k) && within(k, path) })
}
