package ledger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"payledger/cmd/payledger/options"
	"payledger/eventstore/secrets"
)

type masterKey struct {
	key  secrets.Key
	held bool // false: no key is set, and the data folder has none
	data string
	from string // source of the key, for error texts
	own  bool   // the key comes from the data folder
	// others are the other keys during a rotation: the previous master key, or a new key that may
	// seal no value yet.
	others []secrets.Key
	given  secrets.Key
}

// readMasterKey returns the key of the options, or the data folder's own key. It creates none.
func readMasterKey(o options.Options) (m *masterKey, err error) {
	m = &masterKey{data: o.Data, from: "PAYLEDGER_MASTER_KEY (or --master-key-file)"}
	text := o.MasterKey
	if text == "" { // else WithFiles has read the file
		if text, err = options.ReadSecret("--master-key", "", o.MasterKeyFile); err != nil {
			return m, options.Usage(err)
		}
	}
	if text == "" {
		m.from, m.own = secrets.MasterKeyPath(o.Data), true
	}
	if o.MasterKeyPrevious != "" {
		previous, err := secrets.ParseKey(o.MasterKeyPrevious)
		if err != nil {
			return m, options.Usage(err)
		}
		m.others = []secrets.Key{previous}
	}
	m.key, err = secrets.MasterKey(text, o.Data)
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	m.given = m.key
	if m.held = err == nil; m.held && o.NatsURL == "" {
		m.others = append(m.others, secrets.OtherKeys(o.Data, m.key, m.own)...)
	}
	return m, err
}

func (m *masterKey) missing() error {
	if _, err := os.Stat(filepath.Join(m.data, EventsFolder)); err != nil {
		return fmt.Errorf("%s holds no ledger: name its folder with --data", m.data)
	}
	return fmt.Errorf("%s holds a ledger, and its master key is missing: set PAYLEDGER_MASTER_KEY or --master-key-file to the key that the ledger was made with, or put it back into %s; nothing was changed",
		m.data, secrets.MasterKeyPath(m.data))
}

// check refuses a ledger unless the key opens a value that is sealed in it.
func (m *masterKey) check(name string, value []byte) error {
	if !m.held {
		return m.missing()
	}
	if m.key.Check(name, value) == nil {
		return nil
	}
	for i, other := range m.others {
		if other.Check(name, value) == nil {
			m.key, m.others[i] = other, m.key
			return nil
		}
	}
	return m.other()
}

func (m *masterKey) other() error {
	return otherKeyError{fmt.Errorf("the master key in %s is not the one of this ledger: set PAYLEDGER_MASTER_KEY or --master-key-file to the key that the ledger was made with, or that the last rotation gave it; nothing was changed", m.from)}
}

type otherKeyError struct{ error }

// settle ends a rotation of a folder that is complete or has not begun: of its keys only the one in
// force stays. took reports whether that is a new key of the folder's own.
func (m *masterKey) settle(inForce secrets.Key) (took bool, err error) {
	if next, err := secrets.NextKey(m.data); m.own && err == nil && next == inForce {
		return true, secrets.TakeNext(m.data)
	}
	return false, errors.Join(secrets.DropNext(m.data), secrets.DropPrevious(m.data))
}

// orNew returns the key, and creates one for a ledger without a sealed value.
func (m *masterKey) orNew() (secrets.Key, error) {
	if m.held {
		return m.key, nil
	}
	return secrets.NewMasterKey(m.data, rand.Reader)
}
