package format

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"payledger/domain"
)

// Key names one aggregate: its events are one stream of the log.
type Key struct {
	Account   domain.AccountID
	Aggregate string // "payment", "session", …
	ID        string
}

// SystemAccount owns the events of the log itself (barriers); no merchant's account id looks like it.
const SystemAccount domain.AccountID = "system"

const (
	DeliveryAggregate = "delivery" // <accountId>.<endpointId>.<eventId>.<kind>
	BesideAggregate   = "beside"   // any other record of the stream of deliveries
)

// name gives the CloudEvents subject, "<accountId>.<aggregate>.<id>": with the revision it identifies
// an event (I2).
func (k Key) name() string { return string(k.Account) + "." + k.Aggregate + "." + k.ID }

// bearers are the aggregates whose id lets its holder do something: a session's is the access token of its checkout, an
// instrument's pays (D4, D12).
var bearers = []string{"session", "instrument"}

// String names the aggregate in texts that may be logged: an id that is as good as a secret shows as a fingerprint, the
// first eight digits of its SHA-256.
func (k Key) String() string {
	if slices.Contains(bearers, k.Aggregate) {
		sum := sha256.Sum256([]byte(k.ID))
		k.ID = "#" + hex.EncodeToString(sum[:4])
	}
	return k.name()
}

// Valid refuses what cannot name an aggregate.
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
