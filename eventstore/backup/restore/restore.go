package restore

import (
	"fmt"

	"payledger/eventstore/backup"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
)

// Backup is a back-up that can be restored, with its keys.
type Backup struct {
	*backup.Manifest // of the newest run
	// KeysNumber is the number of the run that wrote the keys. It is above the manifest's if that
	// run was interrupted.
	KeysNumber uint64

	chain *backup.Chain
	keys  string           // path of the file of keys
	ended stored.Sequences // destroyed while backup copied them
}

// Open checks the back-up in a folder, and its keys. It does not read the files of the log.
func Open(from, keys string) (*Backup, error) {
	chain, err := backup.ReadChain(from)
	if err != nil {
		return nil, err
	}
	b := &Backup{Manifest: chain.Newest(), chain: chain, ended: stored.Sequences{}}
	if b.Manifest == nil {
		return nil, fmt.Errorf("%s holds no complete back-up: name the folder that backup wrote with --out", from)
	}
	if err := chain.Check(); err != nil {
		return nil, err
	}
	if b.keys, b.KeysNumber, err = backup.KeysFile(keys, chain); err != nil {
		return nil, err
	}
	_, err = backup.Read(b.keys, nil, func(m stored.Message) error {
		if err := secretlog.AddEnded(b.ended, m.Seq, m.Body); err != nil {
			return b.damaged(m.Seq, err)
		}
		return nil
	})
	return b, err
}

func (b *Backup) damaged(seq uint64, err error) error {
	return fmt.Errorf("%w: %s at sequence %d: %w", backup.ErrDamaged, b.keys, seq, err)
}

// CheckSecret calls check for the values of the keys (secretlog.Check).
func (b *Backup) CheckSecret(check secretlog.Check) error {
	return secretlog.Messages(func(handle func(stored.Message) error) error {
		_, err := backup.Read(b.keys, nil, handle)
		return err
	}).Check(check)
}
