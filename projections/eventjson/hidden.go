package eventjson

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/codec"
)

var hidden = map[string]bool{
	"personal": true, "additional": true, // sealed personal data
	"emailHash": true, "keyHash": true, "keyHashes": true, // a reader could confirm a guessed text
	"signingSecret": true, "secret": true, "hint": true, "password": true, "actionToken": true, // secrets and their names
	"user": true, "users": true, "userSessions": true, "removedUsers": true, "from": true, "slows": true, // the merchant's staff, and their addresses
	"totp": true,                    // names of secrets
	"url":  true, "returnUrl": true, // can contain a secret
	"body": true, "rawAnswer": true, // a processor's own text
	"endpointsAfter": true, // addresses in the log, for the notifier only
}

// untouched is the field whose value is the merchant's own and is not changed.
const untouched = "metadata"

// ownJSON is the field whose text is the merchant's own JSON.
const ownJSON = "options"

// hides reports whether a field is left out. stored is the field's whole value, and v its first
// token.
func hides(name string, v codec.Token, stored []byte) bool {
	if hidden[name] {
		return true
	}
	switch v.Kind {
	case codec.Bytes:
		return true
	case codec.Time:
		return NoValue(name, v.At)
	case codec.Text:
		// first6Digits is shown only if the account opted in (§2.2); a setting of this name is a
		// boolean.
		return len(v.Data) == 0 && NoValue(name, "") || name == "first6Digits"
	case codec.Map:
		return name != untouched && sealed(stored)
	}
	return false
}

// NoValue reports whether a field of the log has no value: the zero time is not a time, and an
// empty text is not an id. The log stores some of them, with the tag omitzero. The JSON does not
// have them.
func NoValue(name string, value any) bool {
	switch v := value.(type) {
	case time.Time:
		return v.IsZero()
	case string:
		return v == "" && (name == "id" || strings.HasSuffix(name, "Id") || credentials[name])
	}
	return false
}

// sealed reports whether a map has the field of sealed values. A malformed map has none: who writes
// it finds that out.
func sealed(stored []byte) bool {
	box, err := codec.Field(stored, "box")
	return err == nil && box != nil
}

// credentials are the fields with a payment method token, which can pay (D12), or with a session id
// (D4). All show its fingerprint.
var credentials = map[string]bool{"sessionId": true, "token": true, "paymentMethodToken": true}

// bearers are the aggregates whose id is replaced by its fingerprint.
var bearers = map[string]bool{eventstore.Sessions.Name: true, eventstore.Instruments.Name: true}

// Fingerprint returns the text that replaces a credential: always the same, so events can be joined
// by it.
func Fingerprint(credential string) string {
	if credential == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(credential))
	return "#" + hex.EncodeToString(sum[:12])
}

// browser begins the actor of a call with a client token. The actor ends with the session's id.
const browser = "client_token:"

// Actor returns an event's actor. For a call with a client token it contains the session's
// fingerprint instead of the session's id.
func Actor(recorded string) string {
	if id, byBrowser := strings.CutPrefix(recorded, browser); byBrowser {
		return browser + Fingerprint(id)
	}
	return recorded
}
