package daemon

import (
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/server"
)

// tellingVault tells of the secrets that come and go: their names, never a value.
// The vault is not the ledger's, so that a crash in between loses the event.
type tellingVault struct {
	server.Vault
	tell func(forkbox.Event)
}

func (v tellingVault) Set(uid int, secret forkbox.Secret, value []byte) error {
	if err := v.Vault.Set(uid, secret, value); err != nil {
		return err
	}
	v.tell(forkbox.Event{Kind: forkbox.EventSecretSet, UID: uid, Secret: secret.Name, Name: secret.Name, Text: "it is kept"})
	return nil
}

func (v tellingVault) Remove(uid int, name string) error {
	if err := v.Vault.Remove(uid, name); err != nil {
		return err
	}
	v.tell(forkbox.Event{Kind: forkbox.EventSecretRemoved, UID: uid, Secret: name, Name: name, Text: "it is gone"})
	return nil
}

// tellStore tells what became of the pool.
func (k *keeper) tellStore(text string) {
	k.Tell(forkbox.Event{Kind: forkbox.EventStoreChanged, UID: os.Geteuid(), Text: text})
}
