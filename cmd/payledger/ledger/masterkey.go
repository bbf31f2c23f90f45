package ledger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"payledger/cmd/payledger/options"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
)

// masterKey is the key that seals every secret of a ledger. A ledger that has a sealed value opens only with its own key: with
// another key it would get values that its own key does not open.
type masterKey struct {
	key  secrets.Key
	held bool // false: no key is set, and the data folder has none
	data string
	from string // source of the key, for error texts
}

// readMasterKey returns the key of the options, or the data folder's own key. It creates none.
func readMasterKey(o options.Options) (masterKey, error) {
	m := masterKey{data: o.Data, from: "PAYLEDGER_MASTER_KEY (or --master-key-file)"}
	text := o.MasterKey
	if text == "" { // else WithFiles has read the file
		var err error
		if text, err = options.ReadSecret("--master-key", "", o.MasterKeyFile); err != nil {
			return m, options.Usage(err)
		}
	}
	if text == "" {
		m.from = secrets.MasterKeyPath(o.Data)
	}
	var err error
	m.key, err = secrets.MasterKey(text, o.Data)
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	m.held = err == nil
	return m, err
}

func (m masterKey) missing() error {
	if _, err := os.Stat(filepath.Join(m.data, EventsFolder)); err != nil {
		return fmt.Errorf("%s holds no ledger: name its folder with --data", m.data)
	}
	return fmt.Errorf("%s holds a ledger, and its master key is missing: set PAYLEDGER_MASTER_KEY or --master-key-file to the key that the ledger was made with, or put it back into %s; nothing was changed",
		m.data, secrets.MasterKeyPath(m.data))
}

// check refuses a ledger unless the key opens a value that is sealed in it.
func (m masterKey) check(name string, value []byte) error {
	if !m.held {
		return m.missing()
	}
	if err := m.key.Check(name, value); err != nil {
		return fmt.Errorf("the master key in %s is not the one of this ledger: set PAYLEDGER_MASTER_KEY or --master-key-file to the key that the ledger was made with; nothing was changed", m.from)
	}
	return nil
}

var _ secretlog.Check = masterKey{}.check

// orNew returns the key, and creates one for a ledger without a sealed value.
func (m masterKey) orNew() (secrets.Key, error) {
	if m.held {
		return m.key, nil
	}
	return secrets.NewMasterKey(m.data, rand.Reader)
}
