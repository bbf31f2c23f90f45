package eventjson

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"payledger/eventstore"
	"payledger/eventstore/codec"
)

// hidden are the fields that are left out of events and states.
var hidden = map[string]bool{
	"personal": true, "additional": true, // sealed personal data
	"emailHash": true, "keyHash": true, "keyHashes": true, // a reader who guesses the text could confirm it
	"signingSecret": true, "secret": true, "hint": true, "password": true, "actionToken": true, // secrets and their names
	"user": true, "users": true, // the merchant's staff
	"url": true, "returnUrl": true, // can carry a secret
	"body": true, "rawAnswer": true, // a processor's own text
}

// untouched are the fields whose values are the merchant's own and stay as they are.
const untouched = "metadata"

// ownJSON is the field whose text is JSON of the merchant's own.
const ownJSON = "options"

// hides reports whether a field is left out. stored is the field's whole value, and v its first token.
func hides(name string, v codec.Token, stored []byte) bool {
	if hidden[name] {
		return true
	}
	switch v.Kind {
	case codec.Bytes:
		return true
	case codec.Text:
		return name == "first6Digits" // shown only if the account opted in (§2.2); a setting of this name is a boolean
	case codec.Map:
		return name != untouched && sealed(stored)
	}
	return false
}

// sealed reports whether a map has the field of sealed values. A malformed map has none: who writes it finds that out.
func sealed(stored []byte) bool {
	t, rest, _ := codec.Next(stored)
	for range t.N {
		name, value, err := codec.Next(rest)
		if err != nil {
			return false
		}
		if name.Kind == codec.Text && string(name.Data) == "box" {
			return true
		}
		n, err := codec.Length(value)
		if err != nil {
			return false
		}
		rest = value[n:]
	}
	return false
}

// credentials are the fields that hold a payment method token, which pays (D12), or a session id, which opens nothing (D4) but is
// shown by its fingerprint on all surfaces.
var credentials = map[string]bool{"sessionId": true, "token": true, "paymentMethodToken": true}

// bearers are the aggregates whose own id is shown by its fingerprint.
var bearers = map[string]bool{eventstore.Sessions.Name: true, eventstore.Instruments.Name: true}

// Fingerprint returns the text that stands for a credential: the same for the same credential, so that events can be joined by it.
func Fingerprint(credential string) string {
	if credential == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(credential))
	return "#" + hex.EncodeToString(sum[:12])
}

// browser begins the actor of a call by client token, which ends with the session's id.
const browser = "client_token:"

// Actor returns an event's actor without a credential: of a call by client token the fingerprint of its session.
func Actor(recorded string) string {
	if id, byBrowser := strings.CutPrefix(recorded, browser); byBrowser {
		return browser + Fingerprint(id)
	}
	return recorded
}
