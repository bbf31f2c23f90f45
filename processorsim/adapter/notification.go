package adapter

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/exactjson"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Maximum lengths in bytes of a processor's ids of notifications and disputes, and of its other
// ids.
const (
	maxNotificationID = 128
	maxTransactionID  = 255
)

// ParseNotification parses a request to the notification URL of processor name (D14.4). Errors, in
// this order: a wrong signature (Unauthorized), a body above the protocol's limit
// (RequestTooLarge), a malformed body or another processor (MalformedJson). Other fields than the
// protocol's are allowed and returned apart from the body. No error text repeats a value of the
// body. Card data is removed first. An unreadable dispute is not an error: Unreadable has the
// reason.
func ParseNotification(secret []byte, name processor.Name, header http.Header, body []byte) (processor.SignedNotification, error) {
	if len(secret) == 0 || !protocol.Verify(secret, body, header.Get(protocol.HeaderSignature)) {
		return processor.SignedNotification{}, domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized,
			"The header %s is missing, or does not sign the body.", protocol.HeaderSignature)
	}
	if len(body) > protocol.MaxBody {
		return processor.SignedNotification{}, domain.Refuse(domain.KindInvalid, domain.ReasonRequestTooLarge,
			"The notification is larger than %d bytes.", protocol.MaxBody)
	}
	notification, err := readNotification(name, body)
	if err != nil {
		return processor.SignedNotification{}, domain.Refuse(domain.KindInvalid, domain.ReasonMalformedJSON,
			"The notification is not well formed: %s.", err)
	}
	return notification, nil
}

func readNotification(name processor.Name, body []byte) (processor.SignedNotification, error) {
	if exactjson.Check(body) != nil { // of the body as it came: a clean body has each name once
		return processor.SignedNotification{}, errors.New("it cannot be parsed, or has a name twice")
	}
	clean, tree, redacted := cleanTree(withoutControls(body))
	var w protocol.Notification
	if exactjson.Unmarshal(clean, &w) != nil {
		return processor.SignedNotification{}, errors.New("it cannot be parsed")
	}
	if err := checkNotification(w, name); err != nil {
		return processor.SignedNotification{}, err
	}
	if w.Answer != nil {
		token := w.Answer.CardToken
		for _, secret := range []string{w.Answer.ActionToken, w.Answer.ActionURL, token} { // a notification is stored
			if secret != "" {
				tree, redacted = replaced(tree, secret), true
				clean = encoded(tree)
			}
		}
		w.Answer.ActionURL, w.Answer.CardToken = "", ""
		*w.Answer = withoutOdd(*w.Answer, token)
	}
	named, rest := fieldsFor(name, tree).splitTree(clean, tree)
	notification := processor.SignedNotification{Body: string(named), Additional: rest, Redacted: redacted, Notification: processor.Notification{
		ID: w.ID, Processor: w.Processor, Kind: w.Type, Reference: w.Reference,
	}}
	if w.Type != processor.Dispute {
		notification.Key, notification.Answer = w.IdempotencyKey, w.Answer
		return notification, nil
	}
	var err error
	if notification.Dispute, err = readDispute(name, w.Dispute); err != nil {
		notification.Unreadable = err.Error()
	}
	return notification, nil
}

func checkNotification(w protocol.Notification, name processor.Name) error {
	switch {
	case !plainText(w.ID, maxNotificationID):
		return errors.New("it has no id")
	case w.Processor != name:
		return fmt.Errorf("it is not of %s", name)
	case !domain.ValidID(string(w.Reference)):
		return errors.New("its reference is no payment id")
	case w.Type == processor.Dispute:
		return nil
	case !slices.Contains(protocol.Kinds, w.Type):
		return errors.New("its type is no operation")
	case !plainText(string(w.IdempotencyKey), 255):
		return errors.New("it has no idempotencyKey")
	case w.Answer == nil || check(*w.Answer) != nil:
		return errors.New("its answer is missing or not valid")
	case !optionalID(w.Answer.ProcessorEventID):
		return fmt.Errorf("the processorEventId of its answer is not 1 to %d visible ASCII characters", maxTransactionID)
	}
	return nil
}

// plainText reports whether a text has 1 to most characters, all visible ASCII.
func plainText(s string, most int) bool {
	return s != "" && s != removed && len(s) <= most && strings.IndexFunc(s, func(r rune) bool { return r < '!' || r > '~' }) < 0
}
