package restore

import (
	"errors"
	"fmt"

	"payledger/eventstore/backup"
	"payledger/eventstore/secretlog"
)

// Backup is a back-up that can be restored, with its keys.
type Backup struct {
	*backup.Manifest // of the newest run
	// KeysNumber is the number of the run that wrote the keys. It is above the manifest's if that run was interrupted.
	KeysNumber uint64

	chain *backup.Chain
	keys  string // path of the file of keys
	ended secretlog.Ended
}

// Open checks the back-up in a folder, and its keys. It does not read the files of the log.
func Open(from, keys string) (*Backup, error) {
	chain, err := backup.ReadChain(from)
	if err != nil {
		return nil, err
	}
	b := &Backup{Manifest: chain.Newest(), chain: chain}
	if b.Manifest == nil {
		return nil, fmt.Errorf("%s holds no complete back-up: name the folder that backup wrote with --out", from)
	}
	if err := chain.Check(); err != nil {
		return nil, err
	}
	if b.keys, b.KeysNumber, err = backup.KeysFile(keys, chain); err != nil {
		return nil, err
	}
	return b, b.readEnded()
}

// readEnded finds the values that were destroyed while backup copied them.
func (b *Backup) readEnded() error {
	b.ended = secretlog.NewEnded()
	_, err := backup.Read(b.keys, nil, func(m backup.Message) error {
		if err := b.ended.Note(m.Seq, m.Body); err != nil {
			return b.damaged(m.Seq, err)
		}
		return nil
	})
	return err
}

func (b *Backup) damaged(seq uint64, err error) error {
	return fmt.Errorf("%w: %s at sequence %d: %w", backup.ErrDamaged, b.keys, seq, err)
}

// errStop ends a read.
var errStop = errors.New("restore: no more is wanted")

// CheckSecret calls check with the oldest value of the keys, and after an error with the proof of the newest generation, if there is one.
// Without a value it does not call check.
func (b *Backup) CheckSecret(check secretlog.Check) error {
	k := secretlog.KeyCheck{Check: check}
	_, err := backup.Read(b.keys, nil, func(m backup.Message) error {
		if k.Opens(m.Seq, m.Subject, m.Body) {
			return errStop
		}
		return nil
	})
	switch {
	case errors.Is(err, errStop):
		return nil
	case err != nil:
		return err
	}
	return k.Result()
}
