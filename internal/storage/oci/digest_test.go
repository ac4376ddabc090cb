package oci

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDigests(t *testing.T) {
	a64, a128 := strings.Repeat("a", 64), strings.Repeat("0", 128)
	for d, good := range map[Digest]bool{
		Digest("sha256:" + a64): true, Digest("sha512:" + a128): true, FromBytes(nil): true,
		"": false, ":": false, "sha256": false, "sha256:": false, Digest(a64): false, Digest(":" + a64): false,
		Digest("sha256:" + a128): false, Digest("sha512:" + a64): false, Digest("md5:" + a64): false, Digest("SHA256:" + a64): false,
		Digest("sha256:" + strings.ToUpper(a64)): false, Digest("sha256:" + a64[1:] + "g"): false, Digest("sha256:a/../" + a64[5:]): false,
		Digest("sha256:" + a64 + "\n"): false, Digest("sha256:" + a64[1:] + ":"): false, Digest("sha256:" + a64[2:] + "é"): false,
	} {
		if err := d.Validate(); (err == nil) != good {
			t.Errorf("%q: %v", d, err)
		}
		if sum, err := d.Digester(); (err == nil) != good || good && sum.Digest().Algorithm() != d.Algorithm() {
			t.Errorf("%q: %v", d, err)
		}
	}
	if got := FromBytes([]byte("abc")); got != "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("abc is %s", got)
	}
	s := NewDigester()
	s.Write([]byte("a"))
	s.Write([]byte("bc"))
	if got := s.Digest(); got != FromBytes([]byte("abc")) {
		t.Errorf("abc in parts is %s", got)
	}
}

// Blobs of other makers may be named by sha512: they are compared all the same.
func TestBlobsOfTheOtherKind(t *testing.T) {
	l, err := CreateLayout(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512([]byte("content"))
	d := Descriptor{Digest: Digest("sha512:" + hex.EncodeToString(sum[:])), Size: 7}
	path, err := l.BlobPath(d.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for content, good := range map[string]bool{"content": true, "c0ntent": false, "conten": false, "contents": false} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.CheckBlob(context.Background(), d); (err == nil) != good {
			t.Errorf("%s: %v", content, err)
		}
	}
}
