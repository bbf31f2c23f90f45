package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// ParseNotification reads what came to the notification URL of processor name (D14). Refused are, in this
// order: what is not signed with secret (Unauthorized), what is larger than the protocol allows
// (RequestTooLarge), what is not well formed or of another processor (MalformedJson). Fields that the
// protocol does not know are tolerated. No error text repeats a value of the body.
func ParseNotification(secret []byte, name processor.Name, header http.Header, body []byte) (processor.Notification, error) {
	if len(secret) == 0 || !protocol.Verify(secret, body, header.Get(protocol.HeaderSignature)) {
		return processor.Notification{}, domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized,
			"The header %s is missing, or does not sign the body.", protocol.HeaderSignature)
	}
	if len(body) > protocol.MaxBody {
		return processor.Notification{}, domain.Refuse(domain.KindInvalid, domain.ReasonRequestTooLarge,
			"The notification is larger than %d bytes.", protocol.MaxBody)
	}
	var told protocol.Notification
	err := json.Unmarshal(body, &told)
	if err != nil {
		err = errors.New("it cannot be parsed")
	} else {
		err = checkNotification(told, name)
	}
	if err != nil {
		return processor.Notification{}, domain.Refuse(domain.KindInvalid, domain.ReasonMalformedJSON,
			"The notification is not well formed: %s.", err)
	}
	return processor.Notification{
		ID: told.ID, Processor: told.Processor, Kind: told.Type, Key: told.IdempotencyKey,
		Reference: told.Reference, Answer: told.Answer,
	}, nil
}

// checkNotification tells why a notification is no fact.
func checkNotification(told protocol.Notification, name processor.Name) error {
	switch {
	case told.ID == "":
		return errors.New("it has no id")
	case told.Processor != name:
		return fmt.Errorf("it is not of %s", name)
	case !slices.Contains(protocol.Kinds, told.Type):
		return errors.New("its type is no operation")
	case told.IdempotencyKey == "":
		return errors.New("it has no idempotencyKey")
	case !domain.ValidID(string(told.Reference)):
		return errors.New("its reference is no payment id")
	case check(told.Answer) != nil:
		return errors.New("its answer contradicts itself")
	}
	return nil
}
