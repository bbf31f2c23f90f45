package auditlog

import (
	"fmt"
	"strings"
	"time"

	"payledger/domain/attempt"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
	"payledger/projections/listing"
)

// Tables is the table of the audit log. id and at (microseconds since 1970 UTC) are the event's,
// shard and seq its place in the log.
const Tables = `
CREATE TABLE audit (
	account TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	id      TEXT    NOT NULL,
	shard   INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	type    TEXT    NOT NULL,
	actor   TEXT    NOT NULL,
	subject TEXT    NOT NULL,
	PRIMARY KEY (account, at, id)
) WITHOUT ROWID;
CREATE INDEX audit_actor ON audit (account, actor, at, id);
CREATE INDEX audit_type ON audit (account, type, at, id);
CREATE INDEX audit_subject ON audit (account, subject, type);
`

// Insert inserts the values of a row.
const Insert = `INSERT INTO audit (account, at, id, shard, seq, type, actor, subject) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

// Row is a row of the table.
type Row struct {
	Account string
	At      int64
	ID      string
	Shard   int
	Seq     uint64
	Type    string
	Actor   string
	Subject string
}

// Values returns the row as Insert takes it.
func (r Row) Values() []any {
	return []any{r.Account, r.At, r.ID, int64(r.Shard), int64(r.Seq), r.Type, r.Actor, r.Subject}
}

// Place returns the place after the row.
func (r Row) Place() *listing.Place {
	return &listing.Place{At: time.UnixMicro(r.At).UTC(), ID: r.ID}
}

// user begins the actor of an event that a user of the dashboard caused.
const user = "user:"

// RowOf returns the row of an event; false: the audit log does not have the event.
func RowOf(r *eventstore.Recorded) (Row, bool, error) {
	if !audited(r) {
		return Row{}, false, nil
	}
	fact, err := factOf(r)
	if err != nil {
		return Row{}, false, err
	}
	return Row{
		Account: string(r.Account), At: r.Time.UnixMicro(), ID: r.EventID, Shard: r.Shard, Seq: r.Seq, Type: r.Type, Actor: r.Actor,
		Subject: subjectOf(r, fact).ID,
	}, true, nil
}

func audited(r *eventstore.Recorded) bool {
	switch r.Aggregate {
	case eventstore.Accounts.Name, eventstore.Workflows.Name, eventstore.Webhooks.Name:
		return true
	case eventstore.Persons.Name:
		return r.Type == (person.Erased{}).Type()
	case eventstore.Payments.Name:
		return r.Type != (payment.KeyClaimed{}).Type() && (strings.HasPrefix(r.Actor, user) || r.Origin() != "")
	case eventstore.Attempts.Name:
		return strings.HasPrefix(r.Actor, user) && (r.Type == (attempt.WasApproved{}).Type() || r.Type == (attempt.WasAborted{}).Type())
	}
	return false
}

type fact map[string]any

func factOf(r *eventstore.Recorded) (fact, error) {
	stored, _, err := format.Bodies(r)
	f, err := decoded(stored, err)
	if err != nil {
		return nil, fmt.Errorf("auditlog: %s revision %d: %w", r.Key, r.Revision, err)
	}
	return f, nil
}

func decoded(stored []byte, err error) (fact, error) {
	var f map[string]any
	if err == nil {
		err = codec.UnmarshalGeneric(stored, &f)
	}
	return f, err
}

func (f fact) text(path ...string) string {
	var at any = map[string]any(f)
	for _, name := range path {
		in, _ := at.(map[string]any)
		at = in[name]
	}
	text, _ := at.(string)
	return text
}

// Subject is the thing that an event changed.
type Subject struct {
	Kind string `json:"kind"`           // api_key, webhook_endpoint, user, …
	ID   string `json:"id,omitempty"`   // absent: there is one of the kind
	Name string `json:"name,omitempty"` // for people
}

// subjects are the kinds of things that events change, by the beginning of the event's type, the
// longest first. ids and names are the places of the thing's id and name in the event; list is the
// list of the things of this kind in the state.
var subjects = []struct {
	begins, kind string
	ids, names   [][]string
	list         []string
}{
	{"account.api_key", "api_key", [][]string{{"apiKey", "id"}, {"id"}}, [][]string{{"apiKey", "name"}}, []string{"apiKeys"}},
	{"account.endpoint", "webhook_endpoint", [][]string{{"endpoint", "id"}, {"id"}}, [][]string{{"endpoint", "description"}, {"description"}}, []string{"endpoints"}},
	{"account.user", "user", [][]string{{"user", "id"}, {"userId"}}, [][]string{{"user", "name"}}, []string{"users", "removedUsers"}},
	{"account.analytics_user", "analytics_user", [][]string{{"analyticsUser", "name"}, {"name"}}, nil, nil},
	{"account.processor", "processor", [][]string{{"processor", "name"}}, nil, nil},
	{"account.signing_secret", "signing_secret", nil, nil, nil},
	{"account.routing", "routing", nil, nil, nil},
	{"account.settings", "settings", nil, nil, nil},
	{"account.", "account", [][]string{{"id"}}, [][]string{{"name"}}, nil},
	{"webhook.resend", "webhook_delivery", [][]string{{"deliveryId"}}, [][]string{{"eventType"}}, nil},
	{"webhook.replay", "webhook_replay", [][]string{{"replayId"}}, nil, nil},
	{"workflow.", "workflow", [][]string{{"id"}}, [][]string{{"definition", "name"}}, []string{"workflows"}},
}

// subjectOf returns the thing that an event changed, with its name if the event has it.
func subjectOf(r *eventstore.Recorded, event fact) Subject {
	switch r.Aggregate {
	case eventstore.Payments.Name:
		return Subject{Kind: "payment", ID: r.ID}
	case eventstore.Attempts.Name:
		return Subject{Kind: "payment_attempt", ID: r.ID}
	case eventstore.Persons.Name:
		if customer := event.text("customerId"); customer != "" {
			return Subject{Kind: "customer", ID: customer}
		}
		return Subject{Kind: "payment", ID: event.text("paymentId")} // a guest's
	}
	for _, s := range subjects {
		if strings.HasPrefix(r.Type, s.begins) {
			return Subject{Kind: s.kind, ID: event.first(s.ids), Name: event.first(s.names)}
		}
	}
	return Subject{Kind: r.Aggregate, ID: r.ID}
}

func (f fact) first(paths [][]string) string {
	for _, path := range paths {
		if text := f.text(path...); text != "" {
			return text
		}
	}
	return ""
}

func (f fact) named(lists []string, id string) string {
	for _, list := range lists {
		all, _ := f[list].([]any)
		for _, one := range all {
			thing, _ := one.(map[string]any)
			if fact(thing).text("id") == id {
				return fact(thing).first([][]string{{"name"}, {"description"}, {"definition", "name"}})
			}
		}
	}
	return ""
}
