package api

import (
	"slices"
	"strconv"
	"strings"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// A capture and an adjustment make no object of their own at Stripe. Each leaves a stamp in the
// metadata of its PaymentIntent, set by the same request: "payledger_capture_1f2e3d4c5b6a" =
// "1200 final 01abc.7": the amount in Stripe's units, whether it is final, and the ledger's key.
const stampPrefix = "payledger_"

// stampID is the number of characters of Order.Key that name a stamp.
const stampID = 12

type stamp struct {
	kind   processor.Kind
	id     string
	amount int64
	final  bool
	key    string // the ledger's
}

// stamps is the metadata that a capture or an adjustment sets.
func stamps(o connector.Order, amount int64) map[string]string {
	how := "part"
	if o.Final {
		how = "final"
	}
	return map[string]string{stampPrefix + string(o.Kind) + "_" + o.Key[:stampID]: strconv.FormatInt(amount, 10) + " " + how + " " + string(o.Operation.Key)}
}

// stampsOf reads the stamps of a PaymentIntent, in the order of their names.
func stampsOf(metadata map[string]string) (all []stamp) {
	for name, value := range metadata {
		kind, id, is := strings.Cut(strings.TrimPrefix(name, stampPrefix), "_")
		fields := strings.Fields(value)
		if !is || !strings.HasPrefix(name, stampPrefix) || len(fields) < 2 || kind != string(processor.Capture) && kind != string(processor.Adjust) {
			continue
		}
		amount, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			continue
		}
		t := stamp{kind: processor.Kind(kind), id: id, amount: amount, final: fields[1] == "final"}
		if len(fields) > 2 {
			t.key = fields[2]
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b stamp) int { return strings.Compare(a.id, b.id) })
	return all
}

// stampOf returns the stamp of an order.
func stampOf(metadata map[string]string, o connector.Order) (stamp, bool) {
	for _, t := range stampsOf(metadata) {
		if t.kind == o.Kind && t.id == o.Key[:stampID] {
			return t, true
		}
	}
	return stamp{}, false
}

// captured returns what the captures of the connector took, in Stripe's units.
func captured(metadata map[string]string) (sum int64) {
	for _, t := range stampsOf(metadata) {
		if t.kind == processor.Capture {
			sum += t.amount
		}
	}
	return sum
}

// hasFinal reports whether a capture of the connector was final.
func hasFinal(metadata map[string]string) bool {
	return slices.ContainsFunc(stampsOf(metadata), func(t stamp) bool { return t.kind == processor.Capture && t.final })
}

// captureID returns the transaction of a capture: the charge for a final one, of which there is at
// most one, and the charge with the stamp for any other.
func captureID(charge string, t stamp) string {
	if t.final {
		return charge
	}
	return charge + "_" + t.id
}
