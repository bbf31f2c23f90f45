package clienttoken

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"io"

	"payledger/domain"
	"payledger/eventstore"
)

// AccessToken is the secret in a client token: a uuid (D4). Its holder pays with the session's
// saved cards, so it is sent in client tokens only and never stored.
//
// Design note. The session's id is a keyed hash of the access token. Events, subjects and views
// hold the id, from which the token cannot be computed. No index from token to session is needed,
// and no stored token is compared, so that no comparison leaks timing. A token computed from the id
// would need an index, because an access token alone does not name its account.
type AccessToken string

// NewAccess makes the access token of a new session.
func NewAccess(random io.Reader) (AccessToken, error) {
	text, err := eventstore.NewUUID(random)
	return AccessToken(text), err
}

// SessionID returns the id of the session that an access token opens. The session need not exist.
func (t *Tokens) SessionID(access AccessToken) domain.SessionID {
	return domain.SessionID(t.keyedUUID("session " + string(access)))
}

// keyedUUID returns a uuid that is a keyed hash of a text. The text begins with its purpose and a
// blank, unlike JWTs and cursors.
func (t *Tokens) keyedUUID(text string) string {
	mac := hmac.New(sha256.New, t.Key)
	mac.Write([]byte(text))
	made, err := eventstore.NewUUID(bytes.NewReader(mac.Sum(nil)))
	if err != nil {
		panic(err) // the hash has the 16 bytes that a uuid takes
	}
	return made
}
