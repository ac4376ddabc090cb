package vault

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/forkbox/forkbox"
)

// damaged puts other bytes into the token's file, and checks that it is a clear
// error and that nothing overwrites them.
func damaged(t *testing.T, v *Vault, dir string, content []byte) {
	t.Helper()
	file := filepath.Join(dir, "1000", "TOKEN")
	must(t, os.WriteFile(file, content, 0o600))
	_, value, err := v.Get(1000, "TOKEN")
	refused(t, err, forkbox.Internal, "cannot read secret TOKEN: ")
	if value != nil {
		t.Fatalf("got %q all the same", value)
	}
	refused(t, v.Set(1000, token, []byte("new")), forkbox.Internal, "cannot read secret TOKEN: ")
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, content) {
		t.Fatalf("the file is no longer what it was: %v", err)
	}
}

func TestEveryAlteredByteIsNoticed(t *testing.T) {
	v, dir := filled(t)
	good, err := os.ReadFile(filepath.Join(dir, "1000", "TOKEN"))
	must(t, err)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if _, _, err := open(v.key, 1000, "TOKEN", bad); err == nil {
			t.Fatalf("byte %d can be altered", i)
		}
		if _, _, err := open(v.key, 1000, "TOKEN", good[:i]); err == nil {
			t.Fatalf("%d bytes are enough", i)
		}
	}
	damaged(t, v, dir, good[:len(good)-1])
	damaged(t, v, dir, append(bytes.Clone(good), 0))
	damaged(t, v, dir, nil)
	damaged(t, v, dir, []byte("something of another program's"))
	damaged(t, v, dir, make([]byte, maxFile+1))
	must(t, v.Remove(1000, "TOKEN"))
	must(t, v.Set(1000, token, []byte("new")))
}

func TestAFileOpensOnlyInItsPlace(t *testing.T) {
	v, dir := filled(t)
	content, err := os.ReadFile(filepath.Join(dir, "1000", "TOKEN"))
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "1001"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "1001", "TOKEN"), content, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "1000", "OTHER"), content, 0o600))
	_, _, err = v.Get(1001, "TOKEN")
	refused(t, err, forkbox.Internal, "another secret's")
	_, _, err = v.Get(1000, "OTHER")
	refused(t, err, forkbox.Internal, "another secret's")
}

func TestListNamesWhatCannotBeOpened(t *testing.T) {
	v, dir := filled(t)
	for i := range 2 {
		must(t, os.WriteFile(filepath.Join(dir, "1000", "BAD"+strconv.Itoa(i)), []byte("bad"), 0o600))
		list, err := v.List(1000)
		if len(list) != 1 || list[0].Name != "TOKEN" || err == nil {
			t.Fatalf("list is %v, error %v", list, err)
		}
		e := err.(*forkbox.Error)
		if i == 1 && (len(e.Items) != 2 || e.Items[0].Path != "read secret BAD0") {
			t.Fatalf("the error is about %v", e.Items)
		}
	}
}

func TestWrongKey(t *testing.T) {
	_, dir := filled(t)
	key := filepath.Join(dir, "key")
	good, err := os.ReadFile(key)
	must(t, err)
	must(t, os.WriteFile(key, bytes.Repeat([]byte{1}, keySize), 0o600))
	_, _, err = opened(t, dir).Get(1000, "TOKEN")
	refused(t, err, forkbox.Internal, "another key")
	refused(t, opened(t, dir).Set(1000, token, []byte("new")), forkbox.Internal, "another key")

	must(t, os.WriteFile(key, good[:31], 0o600))
	_, err = Open(dir)
	refused(t, err, forkbox.Internal, "31 bytes")

	must(t, os.Remove(key))
	_, err = Open(dir)
	refused(t, err, forkbox.Internal, "missing")

	must(t, os.WriteFile(key, good, 0o600))
	_, value, err := opened(t, dir).Get(1000, "TOKEN")
	must(t, err)
	if string(value) != tokenValue {
		t.Fatalf("after all that it is %q", value)
	}
}
