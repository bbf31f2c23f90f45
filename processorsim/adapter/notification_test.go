package adapter_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

var notificationSecret = []byte("shared with the processors")

const captured = `{"id":"nt_1","processor":"ADYEN","type":"capture","idempotencyKey":"01abc.7","reference":"01abc",` +
	`"answer":{"state":"SUCCEEDED","processorTransactionId":"tx_1","processorEventId":"ev_1","at":"2026-03-01T12:00:00.123456Z"}}`

// signed are the headers of a notification.
func signed(secret []byte, body string) http.Header {
	return http.Header{protocol.HeaderSignature: {protocol.Sign(secret, []byte(body))}}
}

func TestParseNotification(t *testing.T) {
	got, err := adapter.ParseNotification(notificationSecret, processor.Adyen, signed(notificationSecret, captured), []byte(captured))
	want := processor.Notification{
		ID: "nt_1", Processor: processor.Adyen, Kind: processor.Capture, Key: "01abc.7", Reference: "01abc", Answer: &processor.Answer{
			State: processor.Succeeded, ProcessorTransactionID: "tx_1", ProcessorEventID: "ev_1",
			At: time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC),
		},
	}
	if d := cmp.Diff(want, got.Notification); err != nil || d != "" || got.Body != captured || got.Redacted {
		t.Fatal(got, err, d)
	}
	later := strings.Replace(captured, "{", `{"attempt":3,"disputes":[],`, 1)
	if _, err := adapter.ParseNotification(notificationSecret, processor.Adyen, signed(notificationSecret, later), []byte(later)); err != nil {
		t.Errorf("fields of a later version: %v", err)
	}
}

// TestNotificationOfAction: neither the token nor the page of an action is in a stored body. The
// answer has the token, with which the customer goes on.
func TestNotificationOfAction(t *testing.T) {
	body := strings.Replace(captured, `"SUCCEEDED"`, `"ACTION_REQUIRED","actionToken":"t0ken","message":"go to /t0ken","actionUrl":"https://bank/pay?t=s3cret"`, 1)
	got, err := adapter.ParseNotification(notificationSecret, processor.Adyen, signed(notificationSecret, body), []byte(body))
	if err != nil || got.Answer.ActionURL != "" || got.Answer.ActionToken != "t0ken" || !got.Redacted ||
		strings.Contains(got.Body+got.Additional, "s3cret") || strings.Contains(got.Body+got.Additional, "t0ken") {
		t.Error(got, err)
	}
}

// TestUnsignedNotifications checks that a caller without the secret learns nothing else (D14).
func TestUnsignedNotifications(t *testing.T) {
	good := protocol.Sign(notificationSecret, []byte(captured))
	other := strings.Replace(captured, "01abc.7", "01abc.8", 1)
	for name, c := range map[string]struct {
		secret    []byte
		signature []string
		body      string
	}{
		"no header":         {notificationSecret, nil, captured},
		"empty":             {notificationSecret, []string{""}, captured},
		"cut":               {notificationSecret, []string{good[:63]}, captured},
		"in capitals":       {notificationSecret, []string{strings.ToUpper(good)}, captured},
		"another secret":    {notificationSecret, []string{protocol.Sign([]byte("other"), []byte(captured))}, captured},
		"another body":      {notificationSecret, []string{good}, other},
		"one space more":    {notificationSecret, []string{good}, captured + " "},
		"no body":           {notificationSecret, []string{good}, ""},
		"no secret set":     {nil, []string{protocol.Sign(nil, []byte(captured))}, captured},
		"neither, no JSON":  {notificationSecret, []string{"x"}, "<html>"},
		"second header":     {notificationSecret, []string{"x", good}, captured},
		"oversized as well": {notificationSecret, []string{"x"}, strings.Repeat(" ", protocol.MaxBody+1)},
	} {
		_, err := adapter.ParseNotification(c.secret, processor.Adyen, http.Header{protocol.HeaderSignature: c.signature}, []byte(c.body))
		if domain.ReasonOf(err) != domain.ReasonUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMalformedNotifications checks that a malformed notification is no fact, although it is
// signed.
func TestMalformedNotifications(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(captured, old, new, 1) }
	for name, body := range map[string]string{
		"empty":                   "",
		"null":                    "null",
		"no object":               "[]",
		"half":                    captured[:len(captured)-1],
		"twice":                   captured + captured,
		"wrong type":              change(`"nt_1"`, `1`),
		"no id":                   change(`"nt_1"`, `""`),
		"no processor":            change(`"ADYEN"`, `""`),
		"another processor":       change("ADYEN", "STRIPE"),
		"unknown operation":       change(`"capture"`, `"settle"`),
		"no key":                  change(`"01abc.7"`, `""`),
		"no reference":            change(`"reference":"01abc"`, `"reference":""`),
		"a reference as pattern":  change(`"reference":"01abc"`, `"reference":"*"`),
		"no answer":               change(`"answer"`, `"result"`),
		"an answer without time":  change(`"at"`, `"when"`),
		"success of nothing":      change(`"processorTransactionId":"tx_1",`, ``),
		"an id that was hidden":   change(`"tx_1"`, `"4111111111111111"`),
		"a blank in an id":        change(`"tx_1"`, `"tx 1"`),
		"a long id":               change(`"tx_1"`, `"`+strings.Repeat("x", 256)+`"`),
		"unknown state":           change("SUCCEEDED", "MAYBE"),
		"a failure without cause": change("SUCCEEDED", "FAILED"),
		"a name twice":            change(`{`, `{"id":"nt_2",`),
		"a state twice":           change(`"state"`, `"state":"FAILED","state"`),
		"a number, then another":  change(`{`, `{"note":"4111111111111111","note":"ok",`),
		"twice, deep down":        change(`{`, `{"a":[{"b":"5555555555554444","b":[]}],`),
		"an id in capitals":       change(`"id"`, `"ID"`),
	} {
		_, err := adapter.ParseNotification(notificationSecret, processor.Adyen, signed(notificationSecret, body), []byte(body))
		if domain.ReasonOf(err) != domain.ReasonMalformedJSON || strings.ContainsAny(err.Error(), "45") {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := strings.Replace(captured, "{", `{"padding":"`+strings.Repeat("x", protocol.MaxBody)+`",`, 1)
	_, err := adapter.ParseNotification(notificationSecret, processor.Adyen, signed(notificationSecret, large), []byte(large))
	if domain.ReasonOf(err) != domain.ReasonRequestTooLarge {
		t.Errorf("too large: %v", err)
	}
}

// FuzzParseNotification checks that no signed body makes it panic, and that an accepted
// notification is complete.
func FuzzParseNotification(f *testing.F) {
	f.Add([]byte(captured))
	f.Add([]byte(`{"answer":{"at":"0001-01-01T00:00:00Z"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := adapter.ParseNotification(notificationSecret, processor.Adyen, signed(notificationSecret, string(body)), body)
		var refused *domain.Error
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if err == nil && got.Kind != processor.Dispute && (got.ID == "" || got.Key == "" || got.Processor != processor.Adyen || got.Answer.At.IsZero() || !json.Valid(body)) {
			t.Fatalf("%q gives %+v", body, got)
		}
	})
}

// TestNotificationWithoutCardToken: a notification is stored, so that a token of a card stands
// nowhere in it.
func TestNotificationWithoutCardToken(t *testing.T) {
	body := strings.Replace(captured, `"SUCCEEDED"`, `"SUCCEEDED","cardTokenType":"NETWORK_TOKEN","processorToken":"tok-1","message":"tok-1"`, 1)
	got, err := adapter.ParseNotification(notificationSecret, processor.Adyen, signed(notificationSecret, body), []byte(body))
	if err != nil || got.Answer.CardToken != "" || got.Answer.CardTokenType != processor.NetworkToken || !got.Redacted ||
		strings.Contains(got.Body+got.Additional+got.Answer.Message, "tok-1") {
		t.Errorf("%+v, %+v, %v", got, got.Answer, err)
	}
}
