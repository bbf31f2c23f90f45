package api

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

func vendor(t testing.TB, change func(*Config)) *Vendor {
	t.Helper()
	c := Config{URL: "http://127.0.0.1:1/v71", APIKey: testKey, Account: testAccount, HMACKeys: [][]byte{testHMAC}, TestCards: furtherCards}
	if change != nil {
		change(&c)
	}
	v, err := New(c)
	must(t, err)
	return v
}

// TestSignature: the signature of Adyen's published examples is that of this package.
func TestSignature(t *testing.T) {
	for _, row := range []struct {
		key, want string
		i         item
	}{
		{"44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056", "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=", item{
			PspReference: "7914073381342284", MerchantAccountCode: "TestMerchant", MerchantReference: "TestPayment-1407325143704",
			Amount: amount{"EUR", 1130}, EventCode: "AUTHORISATION", Success: "true",
		}},
		{"DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00", "ipnxGCaUZ4l8TUW75a71/ghd2Fe5ffvX0pV4TLTntIc=", item{
			PspReference: "pspReference", OriginalReference: "originalReference", MerchantAccountCode: "merchantAccount",
			MerchantReference: "reference", Amount: amount{"EUR", 1000}, EventCode: "EVENT", Success: "true",
		}},
	} {
		key, err := hex.DecodeString(row.key)
		must(t, err)
		if got := Sign(key, row.i.signed()); got != row.want {
			t.Errorf("%s instead of %s", got, row.want)
		}
	}
	if got, want := (item{PspReference: `a:b\c`}).signed(), `a\:b\\c::::0:::`; got != want {
		t.Errorf("%s instead of %s", got, want)
	}
}

// TestForged: a message whose fields were changed, with the signature of another key or of none, or
// of the other environment, has no events.
func TestForged(t *testing.T) {
	v := vendor(t, nil)
	good := item{
		PspReference: "P1", OriginalReference: "P0", MerchantAccountCode: testAccount, MerchantReference: "01p.0123456789", Amount: amount{"EUR", 1000},
		EventCode: "CAPTURE", Success: "true", EventDate: time.Unix(1, 0),
	}
	read := func(body []byte) int {
		events, err := v.Events(t.Context(), http.Header{}, body)
		if err != nil {
			return -1
		}
		return len(events)
	}
	body := string(webhook(good, testHMAC))
	if read([]byte(body)) != 1 {
		t.Fatal("a genuine message has no event")
	}
	for name, forged := range map[string]string{
		"success":      strings.Replace(body, `"success":"true"`, `"success":"false"`, 1),
		"amount":       strings.Replace(body, `1000`, `9000`, 1),
		"currency":     strings.Replace(body, `EUR`, `USD`, 1),
		"reference":    strings.Replace(body, `01p.0`, `01q.0`, 1),
		"psp":          strings.Replace(body, `"P1"`, `"P2"`, 1),
		"event":        strings.Replace(body, `"CAPTURE"`, `"REFUND"`, 1),
		"live":         strings.Replace(body, `"live":"false"`, `"live":"true"`, 1),
		"no signature": strings.Replace(body, `hmacSignature`, `other`, 1),
		"another key":  string(webhook(good, []byte("another key of more than 16 bytes"))),
		"no JSON":      body[1:],
		"no items":     `{"live":"false","notificationItems":[]}`,
		"empty":        ``,
	} {
		if forged == body || read([]byte(forged)) != -1 {
			t.Errorf("%s: the message is taken", name)
		}
	}
	elsewhere, byHand, report := good, good, good
	elsewhere.MerchantAccountCode, byHand.MerchantReference, report.EventCode = "OtherMerchant", "order 17", "REPORT_AVAILABLE"
	for _, i := range []item{elsewhere, byHand, report} {
		if n := read(webhook(i, testHMAC)); n != 0 {
			t.Errorf("%d events of %+v", n, i)
		}
	}
	v.HMACKeys = [][]byte{[]byte("the new key of the webhook"), testHMAC}
	if read([]byte(body)) != 1 {
		t.Error("with two keys the old one does not count")
	}
}

// TestDisputeEvents: what each event says about a dispute (D16).
func TestDisputeEvents(t *testing.T) {
	for _, row := range []struct {
		code, told string
		stage      processor.DisputeType
		status     processor.DisputeStatus
	}{
		{"REQUEST_FOR_INFORMATION", "", processor.Retrieval, processor.DisputeOpen},
		{"NOTIFICATION_OF_CHARGEBACK", "Undefended", processor.Chargeback, processor.DisputeOpen},
		{"CHARGEBACK", "", processor.Chargeback, processor.DisputeOpen},
		{"CHARGEBACK", "Pending", processor.Chargeback, processor.DisputeChallenged},
		{"CHARGEBACK", "Accepted", processor.Chargeback, processor.DisputeAccepted},
		{"CHARGEBACK", "Expired", processor.Chargeback, processor.DisputeExpired},
		{"INFORMATION_SUPPLIED", "Undefended", processor.Chargeback, processor.DisputeChallenged},
		{"CHARGEBACK_REVERSED", "", processor.Chargeback, processor.DisputeChallenged},
		{"CHARGEBACK_REVERSED", "Won", processor.Chargeback, processor.DisputeWon},
		{"SECOND_CHARGEBACK", "Lost", processor.Chargeback, processor.DisputeLost},
		{"PREARBITRATION_WON", "", processor.Prearbitration, processor.DisputeWon},
		{"PREARBITRATION_LOST", "", processor.Prearbitration, processor.DisputeLost},
	} {
		for field, code := range map[string]string{"chargebackReasonCode": " 10.4", "rfiReasonCode": "10.4 "} { // an example of Adyen begins with a blank
			d := dispute(item{
				EventCode: row.code, PspReference: "D1", OriginalReference: "P1", Amount: amount{"EUR", 1000}, EventDate: time.Unix(5, 0),
				AdditionalData: map[string]any{"disputeStatus": row.told, field: code, "defensePeriodEndsAt": "2030-01-02T03:04:05+01:00"},
			})
			if d == nil || d.Type != row.stage || d.Status != row.status || d.TransactionID != "P1" || d.ReasonCode != "10.4" || d.Amount != 1000 ||
				d.ChallengeBy.Format(time.RFC3339) != "2030-01-02T02:04:05Z" || !d.At.Equal(time.Unix(5, 0)) {
				t.Errorf("%s %s: %+v", row.code, row.told, d)
			}
		}
	}
	if d := dispute(item{EventCode: "NOTIFICATION_OF_FRAUD", PspReference: "D1"}); d != nil {
		t.Errorf("%+v", d)
	}
}

// TestAmounts: amounts of currencies that Adyen counts otherwise keep their value, or are refused.
func TestAmounts(t *testing.T) {
	for _, row := range []struct {
		currency domain.Currency
		ours     domain.Amount
		theirs   domain.Amount
		ok       bool
	}{
		{"EUR", 1234, 1234, true}, {"JPY", 1234, 1234, true}, {"KWD", 1234, 1234, true}, {"CLP", 12, 1200, true}, {"ISK", 12, 1200, true},
		{"IDR", 1200, 12, true}, {"CVE", 1200, 12, true}, {"IDR", 1234, 0, false}, {"CLP", domain.MaxAmount, 0, false},
		{"EUR", domain.MaxAmount, domain.MaxAmount, true},
	} {
		got, ok := toAdyen(row.ours, row.currency)
		if ok != row.ok || ok && (got.Value != row.theirs || fromAdyen(got) != row.ours) {
			t.Errorf("%d %s: %+v %t", row.ours, row.currency, got, ok)
		}
	}
	if got := fromAdyen(amount{"CLP", 1234}); got != -1 {
		t.Errorf("a part of a peso is %d", got)
	}
}

// TestReasons: issuers' refusals are declines with their code; Adyen's own are failures.
func TestReasons(t *testing.T) {
	for _, row := range []struct {
		r     paid
		state processor.State
		code  string
	}{
		{paid{ResultCode: "Refused", RefusalReasonCode: "12"}, processor.Declined, "51"},
		{paid{ResultCode: "Refused", RefusalReasonCode: "2", AdditionalData: map[string]string{"refusalReasonRaw": "41 : Lost card"}}, processor.Declined, "41"},
		{paid{ResultCode: "Refused", RefusalReasonCode: "20"}, processor.Failed, protocol.CodeGatewayRejected},
		{paid{ResultCode: "Refused", RefusalReasonCode: "999"}, processor.Declined, "unknown"},
		{paid{ResultCode: "Error", RefusalReasonCode: acquirerError}, processor.Failed, protocol.CodeTechnicalError},
		{paid{ResultCode: "Cancelled"}, processor.Failed, "cancelled"},
		{paid{ResultCode: "RedirectShopper"}, processor.Declined, protocol.CodeAuthenticationError},
		{paid{ResultCode: "Received"}, processor.Pending, ""},
	} {
		if a, err := row.r.answer(time.Unix(1, 0)); err != nil || a.State != row.state || a.Code != row.code {
			t.Errorf("%+v: %+v %v", row.r, a, err)
		}
	}
	for _, unknown := range []string{"", "PartiallyAuthorised", "AuthenticationFinished", "Paid"} {
		if a, err := (paid{ResultCode: unknown}).answer(time.Unix(1, 0)); err == nil {
			t.Errorf("%q is a result: %+v", unknown, a)
		}
	}
}
