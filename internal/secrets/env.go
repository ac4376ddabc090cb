package secrets

import (
	"slices"
	"strings"
)

// sockets are variables that lead to something that acts for its owner. What
// they name is hidden as well.
var sockets = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS",
	"DBUS_SYSTEM_BUS_ADDRESS", "DOCKER_HOST", "CONTAINER_HOST", "PODMAN_HOST",
	"TMUX", "STY", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "XAUTHORITY",
	"NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "KUBECONFIG", "KRB5CCNAME",
}

// awsHarmless are the variables of the AWS tools that hold no credential and
// give none away; everything else that begins with AWS_ is dropped.
var awsHarmless = []string{
	"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PAGER", "AWS_CA_BUNDLE", "AWS_DEFAULT_OUTPUT",
	"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SDK_LOAD_CONFIG", "AWS_RETRY_MODE",
	"AWS_MAX_ATTEMPTS", "AWS_EC2_METADATA_DISABLED", "AWS_ENDPOINT_URL", "AWS_EXECUTION_ENV",
}

// words make a variable a credential when they are a whole part of its name:
// MY_TOKEN and TOKEN_GITHUB are, TOKENIZERS_PARALLELISM is not.
var words = []string{
	"TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSWORDS",
	"APIKEY", "CREDENTIAL", "CREDENTIALS", "AUTHTOKEN", "ACCESSKEY", "SECRETKEY",
	"PGPASSWORD", "PGPASSFILE", "COOKIE", "JWT",
}

// pairs are two parts of a name that mean a key together.
var pairs = []string{
	"API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "SECRET_KEY", "SIGNING_KEY", "ENCRYPTION_KEY",
	"MASTER_KEY", "DEPLOY_KEY", "SERVICE_KEY", "AUTH_KEY", "ACCOUNT_KEY", "APP_KEY",
	"LICENSE_KEY", "SSH_KEY", "STORAGE_KEY", "CONNECTION_STRING", "BASIC_AUTH",
}

// glued are endings that count without an underscore before them: GITHUBTOKEN,
// DBPASSWORD.
var glued = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "CREDENTIALS"}

// values are credentials by how they begin, whatever the variable is called,
// when at least so many letters, digits and dashes follow.
var values = []struct {
	prefix string
	rest   int
}{
	{"ghp_", 16}, {"gho_", 16}, {"ghu_", 16}, {"ghs_", 16}, {"ghr_", 16}, {"github_pat_", 16}, // GitHub
	{"glpat-", 16}, {"gldt-", 16}, {"glrt-", 16}, {"glptt-", 16}, // GitLab
	{"sk-", 16},                                          // OpenAI, Anthropic
	{"sk_live_", 16}, {"sk_test_", 16}, {"rk_live_", 16}, // Stripe
	{"xoxb-", 10}, {"xoxp-", 10}, {"xoxa-", 10}, {"xoxs-", 10}, {"xapp-", 10}, // Slack
	{"AKIA", 12}, {"ASIA", 12}, // AWS
	{"AIza", 30}, {"ya29.", 16}, // Google
	{"npm_", 16}, {"pypi-", 16}, {"hf_", 16}, {"dop_v1_", 16}, {"hvs.", 16}, {"hvb.", 16},
	{"SG.", 16}, {"AGE-SECRET-KEY-1", 16},
}

// FilterEnv parts an environment into what a box is given and the names of
// what it is not. allow names variables that are given all the same.
func FilterEnv(env, allow []string) (kept, dropped []string) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(allow, name) || !credential(name, value) {
			kept = append(kept, kv)
		} else {
			dropped = append(dropped, name)
		}
	}
	return kept, dropped
}

func credential(name, value string) bool {
	if value == "" {
		return false // it says only that there is none
	}
	return byName(strings.ToUpper(name)) || byValue(value)
}

func byName(name string) bool {
	switch {
	case slices.Contains(awsHarmless, name):
		return false
	case slices.Contains(sockets, name), strings.HasPrefix(name, "AWS_"):
		return true
	}
	for _, word := range glued {
		if strings.HasSuffix(name, word) {
			return true
		}
	}
	part := func(s string) bool { return hasPart(name, s) }
	return slices.ContainsFunc(words, part) || slices.ContainsFunc(pairs, part)
}

// hasPart says whether some words of a name that underscores part are these.
func hasPart(name, words string) bool {
	for at := 0; ; at++ {
		i := strings.Index(name[at:], words)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(words)
		if (at == 0 || name[at-1] == '_') && (end == len(name) || name[end] == '_') {
			return true
		}
	}
}

func byValue(value string) bool {
	for _, v := range values {
		if rest, ok := strings.CutPrefix(value, v.prefix); ok && keyLength(rest) >= v.rest {
			return true
		}
	}
	signed := strings.HasPrefix(value, "eyJ") && strings.Contains(value, ".eyJ") // a JSON web token
	key := strings.Contains(value, "-----BEGIN ") && strings.Contains(value, "PRIVATE KEY-----")
	return signed || key || passwordInURL(value)
}

// keyLength counts the leading characters that keys are made of.
func keyLength(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	})
	if n < 0 {
		return len(s)
	}
	return n
}

// passwordInURL finds scheme://user:password@host, as in DATABASE_URL.
func passwordInURL(value string) bool {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	userinfo, _, ok := strings.Cut(authority, "@")
	_, password, _ := strings.Cut(userinfo, ":")
	return ok && password != ""
}
