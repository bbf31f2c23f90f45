package format

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"payledger/domain"
)

// Key names one aggregate, whose events are a chain in the log.
type Key struct {
	Account   domain.AccountID
	Aggregate string // "payment", "session", …
	ID        string
}

// SystemAccount owns the aggregates of the log itself, and all inboxes. No merchant's account has
// this id.
const SystemAccount domain.AccountID = "system"

const (
	DeliveryAggregate = "delivery" // <accountId>.<endpointId>.<eventId>.<kind>
	BesideAggregate   = "beside"   // any other record beside the log
)

// name returns the CloudEvents subject, "<accountId>.<aggregate>.<id>". With the revision it
// identifies an event (I2).
func (k Key) name() string { return string(k.Account) + "." + k.Aggregate + "." + k.ID }

// bearers are the aggregates whose id is not shown: an instrument id pays (D12), and a session id
// leads to a person.
var bearers = []string{"session", "instrument"}

// String returns the name of the aggregate for logs. Eight digits of its SHA-256 replace an id that
// is not shown.
func (k Key) String() string {
	if slices.Contains(bearers, k.Aggregate) {
		sum := sha256.Sum256([]byte(k.ID))
		k.ID = "#" + hex.EncodeToString(sum[:4])
	}
	return k.name()
}

// Valid returns an error unless each part of the key is a valid id.
func (k Key) Valid() error {
	parts := []string{string(k.Account), k.Aggregate, k.ID}
	if k.Aggregate == DeliveryAggregate || k.Aggregate == BesideAggregate {
		parts = append(parts[:2], strings.Split(k.ID, ".")...)
	}
	for _, part := range parts {
		if !domain.ValidID(part) {
			return fmt.Errorf("eventstore: %q is not a key", k.String())
		}
	}
	return nil
}
