package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/format"
)

// TestKeysInTexts checks that no text contains an id that can pay, a session's or an instrument's.
// Two texts about one aggregate still show the same name (D12).
func TestKeysInTexts(t *testing.T) {
	const secret = "0f0e0d0c-0000-4000-8000-000000000000"
	for _, key := range []eventstore.Key{eventstore.Sessions.Key("acct", secret), eventstore.Instruments.Key("acct", secret)} {
		text := fmt.Sprintf("%s %v %+v %v", key, key, key, eventstore.Recorded{Key: key})
		if strings.Contains(text, "0f0e0d0c") || !strings.Contains(text, "acct."+key.Aggregate+".#") {
			t.Error(text)
		}
		other := key
		other.ID = "another"
		if other.String() == key.String() {
			t.Error("two keys are called", key)
		}
	}
	if text := eventstore.Payments.Key("acct", "01payment").String(); text != "acct.payment.01payment" {
		t.Error(text)
	}
	r := &eventstore.Recorded{Key: eventstore.Sessions.Key("acct", secret), Type: "session.created", Schema: eventstore.Sessions.Schema, Body: []byte("x")}
	_, eventErr := eventstore.Sessions.Event(r)
	_, stateErr := eventstore.Sessions.State(r)
	_, _, genericErr := format.Generic(r)
	_, _, bytesErr := r.Parts()
	r.Schema++
	_, newerErr := eventstore.Sessions.Event(r)
	_, notKey := sole(t, 1).store().Load(context.Background(), eventstore.Sessions.Key("acct", secret+" "), eventstore.Applied)
	for _, err := range []error{eventErr, stateErr, genericErr, bytesErr, newerErr, notKey} {
		if err == nil || strings.Contains(err.Error(), "0f0e0d0c") {
			t.Error(err)
		}
	}
}
