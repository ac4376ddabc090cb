package toolhosts

import (
	"os"
	"testing"
)

const definitions = `
  prefix: new Definition('prefix', { default: '', }),
  registry: new Definition('registry', {
    default: 'https://npm.example.com/',
    type: url,
`

func TestNPM(t *testing.T) {
	w := newWorld(t)
	w.file("home/ann/src/app/.npmrc", "registry = https://Project.Example.com:8443/npm/\n//project.example.com/:_authToken=https://secret.example.com\n; registry=https://comment.example.com\n")
	w.file("home/ann/src/.npmrc", "@corp:registry=\"https://name:secret@above.example.com/x\"\nproxy=above-proxy.example.com:3128\n")
	w.file("home/ann/.npmrc", "@ann:registry=${SCHEME}://user.example.com\nregistry=${UNSET}\n@lan:registry=http://10.1.2.3:4873/\n")
	w.file("etc/npmrc", "https-proxy=http://proxy.example.com:8080\n@p:registry=https://project.example.com:8443\n")
	w.file("usr/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions/definitions.js", definitions)
	w.opts.Env = []string{"SCHEME=https", "NPM_CONFIG_REGISTRY=https://env.example.com:444/x"}
	w.finds(
		"env.example.com:444 private <- npm (NPM_CONFIG_REGISTRY)",
		"project.example.com:8443 private <- npm (/etc/npmrc)", // first seen in the project, and then in the system's file
		"above.example.com:443 <- npm (/home/ann/src/.npmrc)",
		"above-proxy.example.com:3128 <- npm (/home/ann/src/.npmrc)",
		"user.example.com:443 private <- npm (/home/ann/.npmrc)",
		"10.1.2.3:4873 <- npm (/home/ann/.npmrc)",
		"proxy.example.com:8080 private <- npm (/etc/npmrc)",
	)
}

// TestNPMBuiltIn: what npm would use by itself, from all places it is in.
func TestNPMBuiltIn(t *testing.T) {
	for _, dir := range []string{"usr/lib/node_modules/npm", "usr/local/lib/node_modules/npm", "home/ann/.nvm/versions/node/v22.1.0/lib/node_modules/npm"} {
		w := newWorld(t)
		w.file(dir+"/node_modules/@npmcli/config/lib/definitions/definitions.js", definitions)
		w.finds("npm.example.com:443 private <- npm (/" + dir + "/node_modules/@npmcli/config/lib/definitions/definitions.js)")
		w.file("home/ann/.npmrc", "@scope:registry=https://scope.example.com\n")
		w.finds("scope.example.com:443 private <- npm (/home/ann/.npmrc)",
			"npm.example.com:443 private <- npm (/"+dir+"/node_modules/@npmcli/config/lib/definitions/definitions.js)")
	}
	for file, text := range map[string]string{
		"usr/share/nodejs/@npmcli/config/lib/definitions/definitions.js": "define('registry', {\n  default: 'https://npm.example.com/',",
		"usr/lib/node_modules/npm/lib/utils/config/definitions.js":       definitions,
		"usr/lib/node_modules/npm/lib/config/defaults.js":                "    registry: 'https://npm.example.com/',",
		"usr/lib/node_modules/npm/npmrc":                                 "registry=https://npm.example.com",
	} {
		w := newWorld(t)
		w.mkdir("usr/share/nodejs/npm")
		w.file(file, text)
		w.finds("npm.example.com:443 private <- npm (/" + file + ")")
	}
}

// TestNPMInPath: npm is found through the link that PATH has.
func TestNPMInPath(t *testing.T) {
	w := newWorld(t)
	w.file("opt/node/lib/node_modules/npm/bin/npm-cli.js", "")
	w.file("opt/node/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions/definitions.js", definitions)
	w.mkdir("opt/node/bin")
	if err := os.Symlink("../lib/node_modules/npm/bin/npm-cli.js", w.root+"/opt/node/bin/npm"); err != nil {
		t.Fatal(err)
	}
	w.opts.Env = []string{"PATH=relative:/nowhere:/opt/node/bin"}
	w.finds("npm.example.com:443 private <- npm (/opt/node/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions/definitions.js)")
}

func TestNPMFiles(t *testing.T) {
	w := newWorld(t)
	w.file("elsewhere/user", "registry=https://user.example.com")
	w.file("elsewhere/global", "@g:registry=https://global.example.com")
	w.file("home/ann/.npmrc", "registry=https://unused.example.com")
	w.opts.Env = []string{"npm_config_userconfig=" + w.root + "/elsewhere/user", "NPM_CONFIG_GLOBALCONFIG=" + w.root + "/elsewhere/global", "npm_config_https_proxy=p.example.com:1"}
	w.finds("p.example.com:1 private <- npm (npm_config_https_proxy)", "user.example.com:443 private <- npm (/elsewhere/user)", "global.example.com:443 private <- npm (/elsewhere/global)")
}
