package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	testVersion = "v0.0.0-test"
	testEpoch   = 1700000000
)

// TestRelease makes a release for this machine, twice, as `make release` does,
// and looks at what a user would download.
func TestRelease(t *testing.T) {
	dir, again := makeRelease(t), makeRelease(t)
	base := fmt.Sprintf("forkbox-%s-linux-%s", testVersion, runtime.GOARCH)
	sums := checkSums(t, dir)
	if len(sums) != 2 || sums[base+".tar.gz"] == "" || sums[base+".spdx.json"] == "" {
		t.Fatalf("SHA256SUMS has %v", sums)
	}
	for name, sum := range checkSums(t, again) {
		if sums[name] != sum {
			t.Errorf("%s is another one when it is made again", name)
		}
	}
	binary := checkArchive(t, filepath.Join(dir, base+".tar.gz"), base)
	checkBinary(t, binary)
	checkBill(t, filepath.Join(dir, base+".spdx.json"), binary)
}

func makeRelease(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dist")
	cmd := exec.Command("make", "release", "VERSION="+testVersion, "DIST="+dir, "TARGETS=linux/"+runtime.GOARCH)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", testEpoch), "MAKEFLAGS=", "MAKELEVEL=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// checkSums reads SHA256SUMS and finds that it is right, and about every file.
func checkSums(t *testing.T, dir string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if have := fmt.Sprintf("%x", sha256.Sum256(content)); have != sum {
			t.Errorf("%s has the checksum %s, not %s", name, have, sum)
		}
		sums[name] = sum
	}
	if files, _ := os.ReadDir(dir); len(files) != len(sums)+1 {
		t.Errorf("%d files, %d checksums", len(files), len(sums))
	}
	return sums
}

// checkArchive finds what belongs into an archive, nobody's and of no time of
// its own, and unpacks the binary.
func checkArchive(t *testing.T, path, base string) (binary string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(t.TempDir(), "forkbox")
	var names []string
	for archive := tar.NewReader(unzipped); ; {
		head, err := archive.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(head.Name, base+"/")
		names = append(names, name)
		if len(text) == 0 || head.Uid != 0 || head.Uname != "root" || head.ModTime.Unix() != testEpoch {
			t.Errorf("%s has %d bytes, belongs to %d (%s) and is of %v", name, len(text), head.Uid, head.Uname, head.ModTime)
		}
		mode := int64(0o644)
		if name == "forkbox" {
			mode = 0o755
			if err := os.WriteFile(binary, text, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if head.Mode != mode {
			t.Errorf("%s has the mode %o", name, head.Mode)
		}
	}
	want := []string{"CHANGELOG.md", "LICENSE", "README.md", "completions/forkbox.bash", "completions/forkbox.fish", "completions/forkbox.zsh", "forkbox", "man/forkbox.1"}
	if !slices.Equal(names, want) {
		t.Errorf("the archive has %q", names)
	}
	return binary
}

// checkBinary: it is static, and knows its version.
func checkBinary(t *testing.T, binary string) {
	t.Helper()
	program, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("the binary is not static")
		}
	}
	out, err := exec.Command(binary, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "forkbox "+testVersion+" ") {
		t.Errorf("%v: it says that it is %s", err, out)
	}
}

// checkBill: the bill of materials has every module that `go version` finds in
// the binary, in the version that was linked.
func checkBill(t *testing.T, path, binary string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	have, ids := map[string]bool{}, map[string]bool{}
	for _, p := range b.Packages {
		have[p.Name+" "+p.Version] = true
		if ids[p.ID] {
			t.Errorf("two packages have the id %s", p.ID)
		}
		ids[p.ID] = true
	}
	for _, r := range b.Relationships {
		if !ids[r.To] {
			t.Errorf("%s is related to, and not there", r.To)
		}
	}
	modules, err := exec.Command("go", "version", "-m", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(modules)) {
		if words := strings.Fields(line); len(words) >= 3 && words[0] == "dep" {
			found++
			if !have[words[1]+" "+words[2]] {
				t.Errorf("the bill of materials does not name %s %s", words[1], words[2])
			}
		}
	}
	if found < 10 || len(b.Packages) != found+2 {
		t.Errorf("%d modules, and %d packages in the bill", found, len(b.Packages))
	}
	if !have["github.com/forkbox/forkbox "+testVersion] || !have["stdlib "+strings.TrimPrefix(runtime.Version(), "go")] {
		t.Error("the bill names neither the program nor the standard library")
	}
}
