package toolhosts

import "testing"

// TestYarn: its registry counts in a project that uses it, and only there.
func TestYarn(t *testing.T) {
	w := newWorld(t)
	w.file("home/ann/.yarnrc", "registry \"https://user.example.com/\"\n\"@corp:registry\" \"https://corp.example.com\"\n")
	w.file("home/ann/src/app/.yarnrc.yml", "nodeLinker: node-modules\nnpmRegistryServer: \"https://project.example.com\"\n")
	w.opts.Env = []string{"YARN_NPM_REGISTRY_SERVER=https://env.example.com:444"}
	w.finds()
	w.file("home/ann/src/app/yarn.lock", `# yarn lockfile v1

left-pad@^1.0.0:
  version "1.3.0"
  resolved "https://built-in.example.com/left-pad/-/left-pad-1.3.0.tgz#5b8a"

right-pad@^1.0.0:
  version "1.0.1"
  resolved "https://built-in.example.com/right-pad/-/right-pad-1.0.1.tgz#8ca0"
  resolved "http://10.0.0.1/evil.tgz"
`)
	w.finds(
		"built-in.example.com:443 <- yarn (/home/ann/src/app/yarn.lock)",
		"env.example.com:444 private <- yarn (YARN_NPM_REGISTRY_SERVER)",
		"project.example.com:443 <- yarn (/home/ann/src/app/.yarnrc.yml)",
		"user.example.com:443 private <- yarn (/home/ann/.yarnrc)",
		"corp.example.com:443 private <- yarn (/home/ann/.yarnrc)",
	)
}
