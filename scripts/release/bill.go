package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// The bill of materials is a document of SPDX 2.3. It is read off the binary
// itself, so that it names what was linked and not what go.mod asks for.
type bill struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []billPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type billPackage struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo"`
	Download  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	Licence   string     `json:"licenseDeclared"`
	Purpose   string     `json:"primaryPackagePurpose"`
	Checksums []checksum `json:"checksums,omitempty"`
	Refs      []ref      `json:"externalRefs"`
	Comment   string     `json:"comment,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Of   string `json:"spdxElementId"`
	Kind string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const (
	documentID = "SPDXRef-DOCUMENT"
	programID  = "SPDXRef-forkbox"
	unknown    = "NOASSERTION"
)

func (r *releaser) writeBill(path, name, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := checksum{Algorithm: "SHA256", Value: fmt.Sprintf("%x", sha256.Sum256(text))}
	raw, err := json.MarshalIndent(newBill(name, r.version, r.moment, info, sum), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// newBill names the program, the toolchain's standard library and every module.
func newBill(name, version string, moment time.Time, info *debug.BuildInfo, sum checksum) bill {
	b := bill{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: documentID, Name: name,
		Namespace: fmt.Sprintf("https://%s/sbom/%s-%s", info.Main.Path, name, sum.Value[:16]),
		Creation:  creation{Created: moment.Format(time.RFC3339), Creators: []string{"Tool: forkbox-scripts-release"}},
	}
	program := modulePackage(info.Main.Path, version)
	program.ID, program.Licence, program.Purpose, program.Checksums = programID, "Apache-2.0", "APPLICATION", []checksum{sum}
	b.Packages = append(b.Packages, program)
	b.Relationships = append(b.Relationships, relationship{documentID, "DESCRIBES", programID})
	b.contain(modulePackage("stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		p := modulePackage(dep.Path, dep.Version)
		if dep.Sum != "" {
			p.Comment = "go.sum: " + dep.Sum
		}
		b.contain(p)
	}
	return b
}

func (b *bill) contain(p billPackage) {
	b.Packages = append(b.Packages, p)
	b.Relationships = append(b.Relationships, relationship{programID, "CONTAINS", p.ID})
}

func modulePackage(path, version string) billPackage {
	return billPackage{
		ID: "SPDXRef-" + spdxWord(path+"-"+version), Name: path, Version: version, Download: unknown, Licence: unknown, Purpose: "LIBRARY",
		Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}},
	}
}

// spdxWord has only what an identifier of SPDX may have: letters, digits, dots
// and dashes.
func spdxWord(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '-'
	}, text)
}
