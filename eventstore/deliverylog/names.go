package deliverylog

import (
	"strings"

	"payledger/domain"
	"payledger/eventstore/format"
)

// deliveryParts is the number of tokens in the name of a delivery: <accountId>.<endpointId>.<eventId>.<kind>.
const deliveryParts = 4

// The types of records.
const (
	typeOpen    = "open"
	typeSettled = "settled"
)

// recordSchema is the schema of a record's frame. The body has a schema of its own.
const recordSchema = 1

// keyOf returns the key of a name's records.
func keyOf(name string) (format.Key, error) {
	key := format.Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: name}
	if isDelivery(name) {
		account, rest, _ := strings.Cut(name, ".")
		key = format.Key{Account: domain.AccountID(account), Aggregate: format.DeliveryAggregate, ID: rest}
	}
	return key, key.Valid()
}

func isDelivery(name string) bool { return strings.Count(name, ".") == deliveryParts-1 }

// nameOf is the inverse of keyOf.
func nameOf(key format.Key) string {
	if key.Aggregate == format.DeliveryAggregate {
		return string(key.Account) + "." + key.ID
	}
	return key.ID
}

// laneOf splits the key of a delivery into its lane, <accountId>.<endpointId>, and the rest of the name.
func laneOf(key format.Key) (lane, rest string) {
	endpoint, rest, _ := strings.Cut(key.ID, ".")
	return string(key.Account) + "." + endpoint, rest
}

// isOpen reports whether a record is the record of an open delivery.
func isOpen(r *format.Recorded) bool {
	return r.Aggregate == format.DeliveryAggregate && r.Type == typeOpen
}
