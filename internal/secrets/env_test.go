package secrets

import (
	"slices"
	"strings"
	"testing"
)

func TestFilterEnvDrops(t *testing.T) {
	for _, kv := range []string{
		"GITHUB_TOKEN=x", "GH_TOKEN=x", "TOKEN=x", "MYTOKEN=x", "github_token=x", "TOKEN_CI=x",
		"CLIENT_SECRET=x", "SECRET_KEY_BASE=x", "DB_PASSWORD=x", "PGPASSWORD=x", "MYSQL_PASSWD=x",
		"OPENAI_API_KEY=x", "ANTHROPIC_API_KEY=x", "ALGOLIA_APIKEY=x", "MINIO_ACCESS_KEY=x",
		"MINIO_ACCESS_KEY_ID=x", "TLS_PRIVATE_KEY=x", "DEPLOY_PRIVATE_KEY_PATH=x",
		"GOOGLE_APPLICATION_CREDENTIALS=/x.json", "AWS_ACCESS_KEY_ID=x", "AWS_SESSION_TOKEN=x",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI=x", "AZURE_STORAGE_CONNECTION_STRING=x",
		"SSH_AUTH_SOCK=/x", "SSH_AGENT_PID=1", "GPG_AGENT_INFO=x", "DOCKER_HOST=unix:///x",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/x", "TMUX=/tmp/tmux-0/default,1,0",
		"DATABASE_URL=postgres://me:hunter2@db/x", "REDIS=redis://:hunter2@cache:6379/0",
		"HTTPS_PROXY=http://me:hunter2@proxy:3128",
		"A=ghp_0123456789abcdefghij", "A=github_pat_0123456789abcdefghij", "A=glpat-0123456789abcdefghij",
		"A=sk-0123456789abcdefghij", "A=sk-ant-0123456789abcdefghij", "A=xoxb-0123456789-abc",
		"A=AKIA0123456789ABCDEF", "A=npm_0123456789abcdefghij", "A=eyJhbGciOi.eyJzdWIiOi.sig",
		"A=-----BEGIN OPENSSH PRIVATE KEY-----\nx",
	} {
		name, _, _ := strings.Cut(kv, "=")
		kept, dropped := FilterEnv([]string{kv}, nil)
		if len(kept) > 0 || !slices.Equal(dropped, []string{name}) {
			t.Errorf("%s is passed", kv)
		}
		kept, dropped = FilterEnv([]string{kv}, []string{name})
		if !slices.Equal(kept, []string{kv}) || len(dropped) > 0 {
			t.Errorf("%s is not passed although it is allowed", kv)
		}
	}
}

func TestFilterEnvKeeps(t *testing.T) {
	env := []string{
		"PATH=/bin", "HOME=/root", "KEYBOARD_LAYOUT=us", "TOKENIZERS_PARALLELISM=false", "MONKEY=1",
		"PASSENGER_APP_ENV=x", "SSL_CERT_FILE=/etc/ssl/x", "GPG_TTY=/dev/pts/0", "MAX_TOKENS=5",
		"AWS_REGION=eu-west-1", "AWS_DEFAULT_REGION=x", "AWS_PAGER=less", "AWS_CA_BUNDLE=/x",
		"LANG=sk_SK.UTF-8", "LANGUAGE=sk-SK", "SHELL=/bin/sh", "TERM=xterm-256color", "COMPASS=1",
		"BYPASS=1", "SECRETARY=ann", "DATABASE_URL=postgres://me@db/x", "HTTP_PROXY=http://proxy:3128",
		"URL=https://example.com/a:b@c", "KEY=value=with=equals", "GITHUB_TOKEN=", "NAME", "EMPTY=",
		"NPM_CONFIG_CACHE=/x", "GOPROXY=https://proxy.example.com,direct", "A=npm_config", "A=sk-1",
		"PKG_CONFIG_PATH=/x", "SSH_CONNECTION=10.0.0.1 1 10.0.0.2 22", "HISTFILE=/x", "AUTHOR=me",
	}
	kept, dropped := FilterEnv(env, nil)
	if !slices.Equal(kept, env) {
		t.Errorf("not passed: %v", dropped)
	}
}

func TestHasPart(t *testing.T) {
	for _, c := range []struct {
		name, words string
		want        bool
	}{
		{"TOKEN", "TOKEN", true}, {"MY_TOKEN", "TOKEN", true}, {"TOKEN_FILE", "TOKEN", true}, {"A_TOKEN_B", "TOKEN", true},
		{"TOKENS", "TOKEN", false}, {"MYTOKEN", "TOKEN", false}, {"TOKENTOKEN", "TOKEN", false}, {"TOKENS_TOKEN", "TOKEN", true},
		{"A_API_KEY_B", "API_KEY", true}, {"API_KEYS", "API_KEY", false}, {"", "TOKEN", false}, {"_TOKEN_", "TOKEN", true},
	} {
		if got := hasPart(c.name, c.words); got != c.want {
			t.Errorf("%s in %s: %v", c.words, c.name, got)
		}
	}
}
