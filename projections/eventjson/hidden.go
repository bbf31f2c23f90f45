package eventjson

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"payledger/eventstore"
	"payledger/projections/paymentjson"
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

// shown returns a decoded value without the hidden fields, with fingerprints of credentials, and with the times in the format of D1.
func shown(v any) any {
	switch v := v.(type) {
	case time.Time:
		return paymentjson.Time{Time: v}
	case map[string]any:
		for name, field := range v {
			text, isText := field.(string)
			switch {
			case hides(name, field):
				delete(v, name)
			case isText && credentials[name]:
				v[name] = Fingerprint(text)
			case isText && name == ownJSON && json.Valid([]byte(text)):
				v[name] = json.RawMessage(text)
			case name != untouched:
				v[name] = shown(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = shown(v[i])
		}
	}
	return v
}

// hides reports whether a field is left out.
func hides(name string, value any) bool {
	if hidden[name] {
		return true
	}
	switch value := value.(type) {
	case []byte:
		return true
	case string:
		return name == "first6Digits" // shown only if the account opted in (§2.2); a setting of this name is a boolean
	case map[string]any:
		_, sealed := value["box"]
		return sealed && name != untouched
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
