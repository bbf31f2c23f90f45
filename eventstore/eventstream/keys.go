package eventstream

import (
	"fmt"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// keys derives the keys of the server's operator and accounts.
type keys struct{ derive func(purpose string) []byte }

func (k keys) pair(kind nkeys.PrefixByte, purpose string) (nkeys.KeyPair, error) {
	seed, err := nkeys.EncodeSeed(kind, k.derive("analytics "+purpose))
	if err != nil {
		return nil, fmt.Errorf("eventstream: key of %s: %w", purpose, err)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("eventstream: key of %s: %w", purpose, err)
	}
	return pair, nil
}

// The names of the server's own NATS accounts.
const (
	systemAccount    = "SYSTEM"
	analyticsAccount = "ANALYTICS" // has the stream
)

type identity struct {
	pair   nkeys.KeyPair
	public string
}

func (k keys) account(name string) (identity, error) {
	pair, err := k.pair(nkeys.PrefixByteAccount, "account "+name)
	if err != nil {
		return identity{}, err
	}
	public, err := pair.PublicKey()
	return identity{pair, public}, err
}

// service returns the token and the seed of a new user of the account with all rights there.
func (i identity) service() (token string, seed []byte, err error) {
	pair, public, err := newUser()
	if err != nil {
		return "", nil, err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name = "payledger"
	if token, err = claims.Encode(i.pair); err != nil {
		return "", nil, fmt.Errorf("eventstream: user: %w", err)
	}
	seed, err = pair.Seed()
	return token, seed, err
}

func newUser() (pair nkeys.KeyPair, public string, err error) {
	if pair, err = nkeys.CreateUser(); err != nil {
		return nil, "", fmt.Errorf("eventstream: user: %w", err)
	}
	public, err = pair.PublicKey()
	return pair, public, err
}
