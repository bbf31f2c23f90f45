package deliverylog

import (
	"strings"

	"payledger/domain"
	"payledger/eventstore/format"
)

const deliveryParts = 4 // the number of tokens in the name of a delivery: <accountId>.<endpointId>.<eventId>.<kind>

const (
	typeOpen    = "open"
	typeSettled = "settled"
)

// recordSchema is the schema of a record's frame. The body has a schema of its own.
const recordSchema = 1

func keyOf(name string) (format.Key, error) {
	key := format.Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: name}
	if isDelivery(name) {
		account, rest, _ := strings.Cut(name, ".")
		key = format.Key{Account: domain.AccountID(account), Aggregate: format.DeliveryAggregate, ID: rest}
	}
	return key, key.Valid()
}

// positionPrefix begins the names of the positions of the log's readers.
const positionPrefix = "position."

// PositionName returns the name of the record of a reader's position (package position).
func PositionName(reader string) string { return positionPrefix + reader }

func isPosition(key format.Key) bool {
	return key.Aggregate == format.BesideAggregate && strings.HasPrefix(key.ID, positionPrefix)
}

func isDelivery(name string) bool { return strings.Count(name, ".") == deliveryParts-1 }

func nameOf(key format.Key) string {
	if key.Aggregate == format.DeliveryAggregate {
		return string(key.Account) + "." + key.ID
	}
	return key.ID
}

// laneOf splits the key of a delivery into its lane, <accountId>.<endpointId>, and the rest of the
// name.
func laneOf(key format.Key) (lane, rest string) {
	endpoint, rest, _ := strings.Cut(key.ID, ".")
	return string(key.Account) + "." + endpoint, rest
}

func isOpen(r *format.Recorded) bool {
	return r.Aggregate == format.DeliveryAggregate && r.Type == typeOpen
}
