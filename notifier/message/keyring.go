package message

import (
	"context"
	"errors"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/secrets"
	"payledger/notifier/sender"
)

const keyTime = time.Minute // the time for which a signing secret stays in memory, even if it is destroyed meanwhile

// keyring reads signing secrets and keeps each for keyTime. The secret of a name never changes.
type keyring struct {
	secrets *secrets.Store

	mu   sync.Mutex
	read map[domain.SecretID]readKey
}

type readKey struct {
	text string
	at   time.Time
}

func newKeyring(v *secrets.Store) *keyring {
	return &keyring{secrets: v, read: map[domain.SecretID]readKey{}}
}

// current returns the secrets that sign at now: the current one, and the previous one while it is
// valid (§5.2 rule 3). A destroyed previous secret does not sign: another rotation destroyed it, or
// it expired by another node's clock.
func (k *keyring) current(ctx context.Context, s account.SigningSecret, now time.Time) ([]sender.Key, error) {
	primary, err := k.get(ctx, s.Secret, now)
	if err != nil {
		return nil, err
	}
	keys := []sender.Key{primary}
	if previous, overlaps := s.Overlap(now); overlaps {
		second, err := k.get(ctx, previous.Secret, now)
		switch {
		case err == nil:
			keys = append(keys, second)
		case !errors.Is(err, secrets.ErrGone):
			return nil, err
		}
	}
	return keys, nil
}

func (k *keyring) get(ctx context.Context, name domain.SecretID, now time.Time) (sender.Key, error) {
	k.mu.Lock()
	known, there := k.read[name]
	k.mu.Unlock()
	if there && now.Sub(known.at).Abs() < keyTime {
		return sender.Key{Name: name, Text: known.text}, nil
	}
	text, err := k.secrets.Get(ctx, name)
	if err != nil {
		return sender.Key{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, r := range k.read {
		if now.Sub(r.at).Abs() >= keyTime {
			delete(k.read, other)
		}
	}
	k.read[name] = readKey{string(text), now}
	return sender.Key{Name: name, Text: string(text)}, nil
}
