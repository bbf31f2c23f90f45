package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"payledger/domain/exactjson"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

type message struct {
	Live  string `json:"live"`
	Items []struct {
		Item item `json:"NotificationRequestItem"`
	} `json:"notificationItems"`
}

// item is one event of a webhook.
type item struct {
	AdditionalData      map[string]any `json:"additionalData"`
	Amount              amount         `json:"amount"`
	EventCode           string         `json:"eventCode"`
	EventDate           time.Time      `json:"eventDate"`
	MerchantAccountCode string         `json:"merchantAccountCode"`
	MerchantReference   string         `json:"merchantReference"`
	OriginalReference   string         `json:"originalReference"`
	PspReference        string         `json:"pspReference"`
	Reason              string         `json:"reason"`
	Success             string         `json:"success"`
}

func (i item) more(name string) string { text, _ := i.AdditionalData[name].(string); return text }

var escape = strings.NewReplacer(`\`, `\\`, `:`, `\:`)

// signed returns the text that Adyen signs.
func (i item) signed() string {
	fields := []string{
		i.PspReference, i.OriginalReference, i.MerchantAccountCode, i.MerchantReference, strconv.FormatInt(int64(i.Amount.Value), 10),
		string(i.Amount.Currency), i.EventCode, i.Success,
	}
	for n := range fields {
		fields[n] = escape.Replace(fields[n])
	}
	return strings.Join(fields, ":")
}

// id names an event. It repeats no number of Adyen: sixteen digits may look like a card's.
func (i item) id() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{i.EventCode, i.PspReference, i.Success, i.more("disputeStatus")}, ".")))
	return i.EventCode + "." + base32.StdEncoding.EncodeToString(sum[:])[:20]
}

// Sign returns the signature of a text.
func Sign(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (v *Vendor) genuine(i item) bool {
	given := []byte(i.more("hmacSignature"))
	found := false
	for _, key := range v.HMACKeys {
		found = hmac.Equal([]byte(Sign(key, i.signed())), given) || found
	}
	return found
}

// Events reads a standard webhook. Items of other merchant accounts are left out: a webhook of the
// company has those of all its accounts.
func (v *Vendor) Events(_ context.Context, _ http.Header, body []byte) ([]connector.Event, error) {
	var m message
	if err := exactjson.Unmarshal(body, &m); err != nil || len(m.Items) == 0 {
		return nil, errors.New("it is no standard webhook")
	}
	var events []connector.Event
	for _, wrapped := range m.Items {
		i := wrapped.Item
		if !v.genuine(i) {
			return nil, errors.New("the signature of an item is wrong: compare the HMAC key with that of the webhook")
		}
		if m.Live != strconv.FormatBool(v.Live) {
			return nil, fmt.Errorf("it is of live=%s, and this connector of live=%t", plain(m.Live), v.Live)
		}
		if i.MerchantAccountCode != v.Account {
			continue
		}
		if e, ok := v.event(i); ok {
			events = append(events, e)
		}
	}
	return events, nil
}

// meanings are the events that tell the outcome of an operation.
var meanings = map[string]struct {
	kind      processor.Kind
	overturns bool
	failed    bool          // whatever success says
	code      protocol.Code // of the failure
}{
	"AUTHORISATION":            {kind: processor.Authorize},
	"CAPTURE":                  {kind: processor.Capture, code: protocol.CodeCaptureFailed},
	"CAPTURE_FAILED":           {kind: processor.Capture, code: protocol.CodeCaptureFailed, failed: true, overturns: true},
	"CANCELLATION":             {kind: processor.Void, code: protocol.CodeVoidRefused},
	"TECHNICAL_CANCEL":         {kind: processor.Authorize},
	"REFUND":                   {kind: processor.Refund, code: protocol.CodeRefundFailed},
	"REFUND_FAILED":            {kind: processor.Refund, code: protocol.CodeRefundFailed, failed: true, overturns: true},
	"REFUNDED_REVERSED":        {kind: processor.Refund, code: protocol.CodeRefundFailed, failed: true, overturns: true},
	"AUTHORISATION_ADJUSTMENT": {kind: processor.Adjust, code: "adjust_failed"},
}

// nothingLeft is the reason of a cancel that Adyen refuses because the payment is captured or
// cancelled. It is the only reason that is known to be a decision about a cancel: the ledger may
// capture after a decision (D5.8), so any other is a fault that may pass.
const nothingLeft = "Insufficient balance on payment"

// event returns the event of an item; false if it has none for the ledger.
func (v *Vendor) event(i item) (connector.Event, bool) {
	e := connector.Event{ID: i.id(), TransactionID: i.PspReference}
	ours, made := readReference(i.MerchantReference)
	if d := dispute(i); d != nil {
		e.Reference, e.Tag = ours.payment, ours.tag
		e.Dispute = d
		return e, true
	}
	means, known := meanings[i.EventCode]
	if !known || !made {
		return e, false // of nothing that the ledger did, or done in the Customer Area
	}
	e.Kind, e.Reference, e.Tag = means.kind, ours.payment, ours.tag
	if i.EventCode == "TECHNICAL_CANCEL" || ours.undoing {
		return v.undone(i, e)
	}
	done := i.Success == "true" && !means.failed
	e.Overturns = means.overturns
	answer := processor.Answer{ProcessorTransactionID: i.PspReference, ProcessorEventID: i.PspReference, At: i.EventDate.UTC()}
	switch {
	case done:
		answer.State = processor.Succeeded
		if means.kind == processor.Authorize {
			answer.AuthorizationCode = i.more("authCode")
			more := map[string]string{}
			for name := range i.AdditionalData {
				more[name] = i.more(name)
			}
			answer.Bin, answer.Risk = facts(more)
		}
	case means.kind == processor.Authorize:
		refused := codeOf(i.Reason)
		reason(&answer, refused, i.Reason, bankOf(i))
		if refused == acquirerError {
			answer.State, answer.Code, answer.Retryable = processor.Failed, protocol.CodeTechnicalError, true
		}
	default:
		answer.State, answer.Code, answer.Message = processor.Failed, means.code, plain(i.Reason)
		if means.kind == processor.Void && i.Reason != nothingLeft { // nobody is known to have decided
			answer.Code, answer.Retryable = protocol.CodeTechnicalError, true
		}
	}
	e.Result = &connector.Result{Answer: answer, Amount: fromAdyen(i.Amount), Currency: i.Amount.Currency}
	return e, true
}

// bankOf returns what the bank said.
func bankOf(i item) string {
	if bank := i.more("refusalReasonRaw"); bank != "" {
		return bank
	}
	return i.Reason
}

// undone is the end of a cancel that the connector sent for a lost authorization.
func (v *Vendor) undone(i item, e connector.Event) (connector.Event, bool) {
	e.Kind, e.TransactionID = processor.Authorize, ""
	switch {
	case i.Success == "true":
		e.Result = &connector.Result{Answer: processor.Answer{
			State: processor.Failed, ProcessorEventID: i.PspReference, At: i.EventDate.UTC(), Code: protocol.CodeVoided,
			Message: "its outcome was not known in time: it was cancelled",
		}}
	case i.EventCode == "TECHNICAL_CANCEL":
		e.Nothing = true // nothing under the reference could be cancelled, and no request is on its way any more
	default:
		v.Log.Error().Str("payment", string(e.Reference)).Str("reason", plain(i.Reason)).
			Msg("Adyen did not cancel an authorization whose outcome was not known in time: look at it in the Customer Area")
		return e, false
	}
	return e, true
}
