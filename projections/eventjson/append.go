package eventjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"payledger/projections/jsontext"
	"payledger/projections/paymentjson"
)

// Append appends the JSON of the event to b. With html it escapes <, > and &, as json.Marshal does;
// the values are the same.
func (e Event) Append(b []byte, html bool) ([]byte, error) {
	return e.write(b, html, func(w *writer) error {
		w.head(&e)
		w.b = append(w.b, `,"event":`...)
		if _, err := w.body(e.fact, e.ownID); err != nil {
			return err
		}
		if e.Payment != nil {
			w.b = append(w.b, `,"payment":`...)
			if err := w.payment(e.Payment); err != nil {
				return err
			}
			w.b = append(w.b, `,"amountHeld":`...)
			w.b = strconv.AppendInt(w.b, int64(e.Held), 10)
		} else if err := w.state(&e); err != nil {
			return err
		}
		w.b = append(w.b, '}')
		return nil
	})
}

func (e Event) MarshalJSON() ([]byte, error) { return e.Append(nil, false) }

// AppendFact appends the JSON of the recorded fact alone.
func (e Event) AppendFact(b []byte, html bool) ([]byte, error) {
	return e.write(b, html, func(w *writer) error {
		_, err := w.body(e.fact, e.ownID)
		return err
	})
}

// AppendState appends the JSON of the state after the event, for aggregates other than payments. It
// appends null if there is none.
func (e Event) AppendState(b []byte, html bool) ([]byte, error) {
	return e.write(b, html, func(w *writer) error {
		if len(e.state) == 0 {
			w.b = append(w.b, "null"...)
			return nil
		}
		_, err := w.body(e.state, e.ownID)
		return err
	})
}

func (e Event) write(b []byte, html bool, use func(*writer) error) ([]byte, error) {
	b, err := write(b, html, use)
	if err != nil {
		return nil, fmt.Errorf("eventjson: position %d: %w", e.Position, err)
	}
	return b, nil
}

func (w *writer) head(e *Event) {
	w.b = append(w.b, `{"position":`...)
	w.b = strconv.AppendUint(w.b, e.Position, 10)
	w.field("id", e.ID)
	w.field("type", e.Type)
	w.b = append(w.b, `,"time":"`...)
	w.b = append(paymentjson.AppendTime(w.b, e.Time.Time), '"')
	w.field("accountId", string(e.AccountID))
	w.field("aggregate", e.Aggregate)
	w.field("aggregateId", e.AggregateID)
	w.b = append(w.b, `,"revision":`...)
	w.b = strconv.AppendUint(w.b, e.Revision, 10)
	w.field("actor", e.Actor)
	w.field("hash", e.Hash)
}

func (w *writer) field(name, text string) {
	w.b = append(append(append(w.b, `,"`...), name...), `":`...)
	w.b = jsontext.Append(w.b, text, w.html)
}

// state writes the state under its name, or nothing if it has no field.
func (w *writer) state(e *Event) error {
	name := kinds[e.Aggregate].state
	if name == "" || len(e.state) == 0 {
		return nil
	}
	before := len(w.b)
	w.b = append(append(append(w.b, `,"`...), name...), `":`...)
	some, err := w.body(e.state, e.ownID)
	if !some {
		w.b = w.b[:before]
	}
	return err
}

func (w *writer) payment(p *paymentjson.Payment) error {
	text := bytes.NewBuffer(w.b)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(w.html)
	if err := encoder.Encode(p); err != nil {
		return fmt.Errorf("payment: %w", err)
	}
	w.b = bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	return nil
}
