package clienttoken

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"io"

	"payledger/domain"
	"payledger/eventstore"
)

// AccessToken is the secret in a client token: a uuid (D4). Its holder pays with the session's saved cards, so it is
// given out in client tokens and kept nowhere.
//
// Design note. The session's id is a keyed hash of the access token, made one way: events, subjects and views hold the
// id, and nobody finds the token by it. No index from token to session is needed, a token that is looked up is never
// compared with one that is kept, so no comparison takes longer the more of it is right, and only the one spelling
// that was given out has the hash. The other way round, a token made of the id, would need such an index, as an
// access token alone does not say whose it is.
type AccessToken string

// NewAccess makes the access token of a new session.
func NewAccess(random io.Reader) (AccessToken, error) {
	text, err := eventstore.NewUUID(random)
	return AccessToken(text), err
}

// SessionID is the id of the session that an access token opens. The session need not exist.
func (t *Tokens) SessionID(access AccessToken) domain.SessionID {
	return domain.SessionID(t.keyedUUID("session " + string(access)))
}

// keyedUUID is a uuid made of a text with the key of client tokens. The text begins with its purpose and a blank, so
// that it is no text of another purpose, and none of a JWT or a cursor.
func (t *Tokens) keyedUUID(text string) string {
	mac := hmac.New(sha256.New, t.Key)
	mac.Write([]byte(text))
	made, err := eventstore.NewUUID(bytes.NewReader(mac.Sum(nil)))
	if err != nil {
		panic(err) // the hash has the 16 bytes that a uuid takes
	}
	return made
}
