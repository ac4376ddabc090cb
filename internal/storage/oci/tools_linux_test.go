package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func needTools(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s (Debian's package of that name)", name)
		}
	}
}

func runTool(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, errors.Bytes())
	}
	return out
}

// complete is an archive of an image that can run: a root with a shell, and a
// layer over it that changes and deletes.
func complete(t *testing.T) string {
	t.Helper()
	base, top := t.TempDir(), t.TempDir()
	shell(t, base)
	write(t, base+"/etc/deleted", "x", 0o644)
	write(t, base+"/etc/opaque/old", "x", 0o644)
	write(t, base+"/etc/kept", "kept", 0o644)
	whiteout(t, top+"/etc/deleted")
	write(t, top+"/etc/opaque/new", "new", 0o644)
	setXattr(t, top+"/etc/opaque", prefix()+"opaque", "y")
	write(t, top+"/etc/hello", "hello from a snapshot\n", 0o644)
	check(t, os.Link(top+"/etc/hello", top+"/etc/linked"))
	path := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(path)
	check(t, err)
	defer f.Close()
	_, err = Export(context.Background(), f, Exporting{Spool: t.TempDir(), Layers: []Stratum{
		{Trees: []Tree{{"/", base}}},
		{Trees: []Tree{{"/", top}}, Options: Options{XattrPrefix: prefix()}},
	}, Image: Image{
		Ref: "v1", Base: "oci", Created: then, Env: []string{"PATH=/bin", "WHO=forkbox"}, WorkingDir: "/etc",
		Cmd: []string{"/bin/sh", "-c", "while read -r line; do echo \"$line $WHO $PWD\"; done < hello; echo *; echo opaque/*"},
	}})
	check(t, err)
	return path
}

// shell copies a shell and the libraries that it needs.
func shell(t *testing.T, root string) {
	t.Helper()
	files := []string{"/bin/sh"}
	for _, field := range strings.Fields(string(runTool(t, "ldd", "/bin/sh"))) {
		if strings.HasPrefix(field, "/") {
			files = append(files, field)
		}
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		check(t, err)
		write(t, root+name, string(data), 0o755)
	}
}

func TestOtherToolsUnderstandOurImages(t *testing.T) {
	needTools(t, "skopeo", "umoci")
	archive, dir := complete(t), t.TempDir()
	var seen struct {
		Architecture, Os string
		Labels           map[string]string
		Layers           []string
	}
	check(t, json.Unmarshal(runTool(t, "skopeo", "--tmpdir", t.TempDir(), "inspect", "oci-archive:"+archive+":v1"), &seen))
	if seen.Os != "linux" || seen.Labels[LabelBase] != "oci" || len(seen.Layers) != 2 {
		t.Errorf("skopeo sees %+v", seen)
	}
	bundle := unpackWithOthers(t, archive, dir)
	mine := t.TempDir()
	unpackOurselves(t, archive, mine)
	got, want := contents(t, bundle+"/rootfs"), contents(t, mine)
	sameLines(t, got, want)
}

// unpackWithOthers has skopeo read the archive, zstd and all, and umoci make a
// bundle of it, which knows only gzip.
func unpackWithOthers(t *testing.T, archive, dir string) (bundle string) {
	t.Helper()
	policy := dir + "/policy.json"
	check(t, os.WriteFile(policy, []byte(`{"default":[{"type":"insecureAcceptAnything"}]}`), 0o600))
	runTool(t, "skopeo", "--policy", policy, "--tmpdir", t.TempDir(), "copy", "--dest-compress-format", "gzip", "oci-archive:"+archive+":v1", "oci:"+dir+"/layout:v1")
	bundle = dir + "/bundle"
	args := []string{"unpack", "--image", dir + "/layout:v1", bundle}
	if !isRoot() {
		args = append(args, "--rootless")
	}
	runTool(t, "umoci", args...)
	return bundle
}

func unpackOurselves(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	check(t, err)
	defer f.Close()
	l, err := ReadArchive(context.Background(), f, t.TempDir(), Limits{})
	check(t, err)
	im, err := l.Image(Want{})
	check(t, err)
	_, err = UnpackRoot(context.Background(), dir, im.Layers, Form{})
	check(t, err)
}

var rootlessNote = regexp.MustCompile(` user\.rootlesscontainers="(?:[^"\\]|\\.)*"`)

// contents describes a tree without what tools of others do differently when
// they are not root.
func contents(t *testing.T, dir string) (lines []string) {
	for _, line := range describeTree(t, dir) {
		lines = append(lines, rootlessNote.ReplaceAllString(line, ""))
	}
	return lines
}

func TestOurImagesRunElsewhere(t *testing.T) {
	needRoot(t)
	needTools(t, "skopeo", "umoci", "runc")
	bundle := unpackWithOthers(t, complete(t), t.TempDir())
	simplify(t, bundle+"/config.json")
	state := t.TempDir()
	id := "fbtest-" + filepath.Base(filepath.Dir(state))
	t.Cleanup(func() { _ = exec.Command("runc", "--root", state, "delete", "--force", id).Run() })
	out := string(runTool(t, "runc", "--root", state, "run", "--bundle", bundle, id))
	want := "hello from a snapshot forkbox /etc\nhello kept linked opaque\nopaque/new\n"
	if got := strings.Replace(out, "hostname ", "", 1); got != want {
		t.Errorf("it said %q\n   want %q", out, want)
	}
}

// simplify takes out of a bundle what has nothing to do with the image: a
// terminal, and cgroups, which a machine for tests may not let us make.
func simplify(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	var spec map[string]any
	check(t, json.Unmarshal(data, &spec))
	process := spec["process"].(map[string]any)
	process["terminal"] = false
	linux := spec["linux"].(map[string]any)
	delete(linux, "resources")
	delete(linux, "cgroupsPath")
	delete(process, "rlimits")
	var mounts []any
	for _, m := range spec["mounts"].([]any) {
		if m.(map[string]any)["type"] == "proc" {
			mounts = append(mounts, m)
		}
	}
	spec["mounts"] = mounts
	data, err = json.Marshal(spec)
	check(t, err)
	check(t, os.WriteFile(path, data, 0o600))
}
