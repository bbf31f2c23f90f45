package management_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/request"
)

// TestListProcessors checks the fields and the pages of the list. The reason of a fault is not
// shown.
func TestListProcessors(t *testing.T) {
	r := newRig(t)
	r.merchant.Processors = []account.Processor{{Name: processor.Adyen, MerchantID: "m-1", Enabled: true}}
	const adyen = `{"name":"ADYEN","processorMerchantId":"m-1","enabled":true`
	rows := []string{adyen}
	for _, name := range processor.Names[1:] { // younger than the account
		p, _ := r.merchant.Processor(name)
		rows = append(rows, fmt.Sprintf(`{"name":%q,"processorMerchantId":%q,"enabled":false`, name, p.MerchantID))
	}
	list := func(rows []string, more string) string {
		return `{"data":[` + strings.Join(rows, more+"},") + more + `}]`
	}
	r.answered(list(rows, "") + `}`)(r.h.ListProcessors(r.with()))
	cursor := r.page(list(rows[:1], ""))(r.h.ListProcessors(r.query("limit=1")))
	r.answered(list(rows[1:], "") + `}`)(r.h.ListProcessors(r.query("cursor=" + cursor)))
	r.h.Connection = func(name processor.Name) processor.Connection {
		if name == processor.Adyen {
			return processor.Connection{State: processor.NotAnswering, Since: noon, Reason: "dial tcp 10.0.0.3"}
		}
		return processor.Connection{State: processor.NoAddress}
	}
	rows[0] += `,"connection":"NOT_ANSWERING","connectionSince":"` + noon.Format("2006-01-02T15:04:05.000000Z") + `"}`
	none := strings.TrimPrefix(list(rows[1:], `,"connection":"NO_ADDRESS"`), `{"data":[`)
	r.answered(`{"data":[` + rows[0] + `,` + none + `}`)(r.h.ListProcessors(r.with()))
}

// TestChangeProcessor checks that the processor of the path gets the sent fields, and no others.
func TestChangeProcessor(t *testing.T) {
	r := newRig(t)
	r.doubles.processor = account.Processor{Name: processor.Adyen, MerchantID: "m-2", Enabled: true}
	change := request.WithBody(r.h.ChangeProcessor)
	merchant, off := "m-2", false
	r.answered(`{"name":"ADYEN","processorMerchantId":"m-2","enabled":true}`)(change(r.body(`{"processorMerchantId":"m-2"}`, "name", "ADYEN")))
	r.changed("ChangeProcessor", account.ChangeProcessor{Name: processor.Adyen, MerchantID: &merchant})
	_, err := change(r.body(`{"enabled":false}`, "name", "STRIPE"))
	must(t, err)
	r.changed("ChangeProcessor", account.ChangeProcessor{Name: processor.Stripe, Enabled: &off})
}

// TestGetSettings checks that absent settings are left out, except for the capture mode, whose
// default is shown (D4, D5, D6).
func TestGetSettings(t *testing.T) {
	r := newRig(t)
	r.answered(`{"captureMode":"MANUAL","first6Digits":false,"refuseRefundOfDisputed":false}`)(r.h.GetSettings(r.with()))
	r.merchant.Settings = account.Settings{CaptureMode: account.CaptureAutomatic, ClientTokenTTL: 60, First6Digits: true, DisplayName: "Käse", RefuseRefundOfDisputed: true}
	r.answered(`{"captureMode":"AUTOMATIC","clientTokenTtl":60,"first6Digits":true,"displayName":"Käse","refuseRefundOfDisputed":true}`)(r.h.GetSettings(r.with()))
}

// TestChangeSettings checks that the command gets the sent fields. null removes the display name,
// and restores the default of the life of client tokens; it changes no other setting.
func TestChangeSettings(t *testing.T) {
	none, empty, minute, name, automatic, six := int64(0), "", int64(60), "North", account.CaptureAutomatic, true
	for body, want := range map[string]account.ChangeSettings{
		`{}`: {},
		`{"clientTokenTtl":60,"displayName":"North","captureMode":"AUTOMATIC","first6Digits":true,"refuseRefundOfDisputed":true}`: {
			ClientTokenTTL: &minute, DisplayName: &name, CaptureMode: &automatic, First6Digits: &six, RefuseRefundOfDisputed: &six,
		},
		`{"clientTokenTtl":null}`:                  {ClientTokenTTL: &none},
		`{"displayName":null}`:                     {DisplayName: &empty},
		`{"captureMode":null,"first6Digits":null}`: {},
	} {
		r := newRig(t)
		r.settings = account.Settings{DisplayName: "North"}
		r.answered(`{"captureMode":"MANUAL","first6Digits":false,"displayName":"North","refuseRefundOfDisputed":false}`)(request.WithBody(r.h.ChangeSettings)(r.body(body)))
		r.changed("ChangeSettings", want)
	}
}

// signing is a signing secret. The secret before it is valid until a given time.
func signing(until time.Time) account.SigningSecret {
	return account.SigningSecret{
		Secret: "signing.2", Hint: "wxyz", CreatedAt: noon, Previous: &account.PreviousSecret{Secret: "signing.1", Hint: "abcd", ValidUntil: until},
	}
}

const signingFields = `"hint":"wxyz","number":2,"createdAt":` + noonText

// TestGetSigningSecret checks that the answer has no secret, and the end of the previous one only
// before that end (§5.2 rule 3).
func TestGetSigningSecret(t *testing.T) {
	r := newRig(t)
	r.merchant.Signing = signing(noon.Add(time.Hour))
	r.answered(`{` + signingFields + `,"previousValidUntil":"2026-03-14T13:00:00.000000Z"}`)(r.h.GetSigningSecret(r.with()))
	r.merchant.Signing = signing(noon)
	r.answered(`{` + signingFields + `}`)(r.h.GetSigningSecret(r.with()))
	r.merchant.Signing.Previous = nil
	r.answered(`{` + signingFields + `}`)(r.h.GetSigningSecret(r.with()))
}

// TestRotateSigningSecret checks that the answer has the new secret. It warns of an overlap that
// ended early, and of nodes that have not confirmed the rotation; the log has their error (§5.2,
// D18).
func TestRotateSigningSecret(t *testing.T) {
	const fields = `{"signingSecret":"plsec_new",` + signingFields + `,"previousValidUntil":"2026-03-15T12:00:00.000000Z"`
	const early = `"Webhooks are no longer signed with the secret that ends in abcd, which was valid until 2026-03-14T13:00:00Z: receivers that hold no newer one refuse them."`
	const nodes = `"Not every node of the service has confirmed the rotation yet: for a moment, webhooks may still be signed with the previous secret alone."`
	ended := &account.PreviousSecret{Hint: "abcd", ValidUntil: noon.Add(time.Hour).In(time.FixedZone("", -3600))}
	for _, c := range []struct {
		name      string
		ended     *account.PreviousSecret
		elsewhere error
		want      string
	}{
		{"confirmed", nil, nil, fields + `}`},
		{"ended early", ended, nil, fields + `,"warnings":[` + early + `]}`},
		{"not confirmed", nil, errors.New("node-3 is silent"), fields + `,"warnings":[` + nodes + `]}`},
		{"both", ended, errors.New("node-3 is silent"), fields + `,"warnings":[` + early + `,` + nodes + `]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.rotated = accounts.RotatedSecret{Signing: signing(noon.Add(account.SigningOverlap)), Text: "plsec_new", Ended: c.ended, Elsewhere: c.elsewhere}
			r.answered(c.want)(r.h.RotateSigningSecret(r.with()))
			r.changed("RotateSigningSecret")
			if logged := r.log.String(); strings.Contains(logged, "node-3 is silent") != (c.elsewhere != nil) || strings.Contains(logged, "plsec_new") {
				t.Errorf("logged %s", logged)
			}
		})
	}
}

// TestErasures checks that the customer, or the guest of the payment, of the path is erased, and
// that the answer names which (D20).
func TestErasures(t *testing.T) {
	r := newRig(t)
	r.erased = person.State{ID: "person", CustomerID: "customer-7", Session: "session", ErasedAt: noon}
	r.answered(`{"customerId":"customer-7","erasedAt":` + noonText + `}`)(r.h.EraseCustomer(r.with("customerId", "customer-7")))
	r.changed("EraseCustomer", "customer-7")
	r.answered(`{"paymentId":"payment-1","erasedAt":` + noonText + `}`)(r.h.EraseGuest(r.with("id", "payment-1")))
	r.changed("EraseGuest", domain.PaymentID("payment-1"))
}
