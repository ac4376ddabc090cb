package oci

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

const everyField = `{"mediaType":"x","digest":"sha256:44","size":3,"urls":["u"],"annotations":{"a":"b"},"data":"e30=",` +
	`"platform":{"architecture":"a","os":"o","os.version":"v","os.features":["f"],"variant":"v7"},"artifactType":"q"}`

// Indexes of other makers are written again, and nothing in them may be lost.
func TestDocumentsKeepEveryField(t *testing.T) {
	for text, v := range map[string]any{
		`{"schemaVersion":2,"mediaType":"m","artifactType":"t","manifests":[` + everyField + `],"subject":` + everyField + `,"annotations":{"z":"y"}}`:                          &Index{},
		`{"schemaVersion":2,"mediaType":"m","artifactType":"t","config":` + everyField + `,"layers":[` + everyField + `],"subject":` + everyField + `,"annotations":{"z":"y"}}`: &Manifest{},
	} {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(v); err != nil || !bytes.Equal(again, []byte(text)) {
			t.Errorf("%s, %v; want %s", again, err, text)
		}
	}
}

// The bytes of what we write are its name in registries: another order of
// fields would send everything again.
func TestConfigurationIsAlwaysTheSame(t *testing.T) {
	im := Image{
		OS: "linux", Arch: "amd64", Created: time.Unix(1700000000, 5), Env: []string{"A=b"}, WorkingDir: "/w",
		Entrypoint: []string{"e"}, Cmd: []string{"c"}, User: "u", Labels: map[string]string{"l": "m"}, Base: "empty",
	}
	for want, c := range map[string]struct {
		im     Image
		layers []Blob
	}{
		`{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[]}}`: {im: Image{OS: "linux", Arch: "amd64"}},
		`{"created":"2023-11-14T22:13:20.000000005Z","architecture":"amd64","os":"linux",` +
			`"config":{"User":"u","Env":["A=b"],"Entrypoint":["e"],"Cmd":["c"],"WorkingDir":"/w","Labels":{"io.forkbox.base":"empty","l":"m"}},` +
			`"rootfs":{"type":"layers","diff_ids":["sha256:d"]},"history":[{"created":"2023-11-14T22:13:20.000000005Z","created_by":"forkbox"}]}`: {im, []Blob{{DiffID: "sha256:d"}}},
	} {
		config, err := configOf(c.im, c.layers)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(config); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
