package adapter_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

const disputeOfBraintree = `{"id":"nt_1","processor":"BRAINTREE","type":"dispute","reference":"01abc","dispute":{"id":"dp_1","merchant_account_id":"m 1",` +
	`"order_id":"01abc","transaction":{"id":"tx_1"},"kind":"chargeback","status":"open","reason":"fraud","reason_code":"10_4","amount_disputed":"12.50",` +
	`"currency_iso_code":"EUR","updated_at":"2026-03-01T12:00:00.123456Z","reply_by_date":"2026-03-15"}}`

var since = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// parse reads a signed notification.
func parse(name processor.Name, body string) (processor.SignedNotification, error) {
	return adapter.ParseNotification(notificationSecret, name, signed(notificationSecret, body), []byte(body))
}

// TestDisputeAmounts: decimal amounts have exactly the digits of their currency (§6.4: zero-decimal
// currencies too).
func TestDisputeAmounts(t *testing.T) {
	for _, c := range []struct {
		amount, currency string
		want             domain.Amount
	}{
		{"12.50", "EUR", 1250}, {"0.05", "EUR", 5}, {"0.00", "EUR", 0}, {"1250", "JPY", 1250}, {"1.250", "BHD", 1250}, {"3", "XAU", 3},
		{"90071992547409.91", "EUR", domain.MaxAmount},
		{"12.5", "EUR", -1}, {"12", "EUR", -1}, {"12.500", "EUR", -1}, {"1250.00", "JPY", -1}, {"1250.", "JPY", -1}, {".50", "EUR", -1}, {"-1.00", "EUR", -1},
		{"+1.00", "EUR", -1}, {"1,250.00", "EUR", -1}, {"1e3", "JPY", -1}, {"", "EUR", -1}, {"90071992547409.92", "EUR", -1}, {"99999999999999999.00", "EUR", -1},
		{"1.00", "EURO", -1}, {"1.00", "", -1}, {" 1.00", "EUR", -1},
	} {
		body := strings.NewReplacer(`"12.50"`, `"`+c.amount+`"`, `"EUR"`, `"`+c.currency+`"`).Replace(disputeOfBraintree)
		notification, err := parse(processor.Braintree, body)
		if err != nil || c.want < 0 && notification.Unreadable == "" || c.want >= 0 && (notification.Unreadable != "" || notification.Dispute.Amount != c.want) {
			t.Errorf("%s %s: %+v %v", c.amount, c.currency, notification, err)
		}
	}
}

// TestUnreadableDisputes checks that a notification with an id and a payment is accepted with the
// reason why its dispute is unreadable. The reason repeats no value.
func TestUnreadableDisputes(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(disputeOfBraintree, old, new, 1) }
	head := disputeOfBraintree[:strings.Index(disputeOfBraintree, `{"id":"dp_1"`)]
	for name, c := range map[string]struct{ body, why string }{
		"no dispute":            {change(`"dispute":{`, `"other":{`), "its dispute cannot be parsed"},
		"null":                  {head + "null}", "its dispute has no id"},
		"a list":                {head + "[]}", "its dispute cannot be parsed"},
		"no dispute id":         {change(`"dp_1"`, `""`), "its dispute has no id"},
		"a blank in its id":     {change(`"dp_1"`, `"dp 1"`), "its dispute has no id"},
		"a long id":             {change(`"dp_1"`, `"`+strings.Repeat("x", 129)+`"`), "its dispute has no id"},
		"an id that was hidden": {change(`"dp_1"`, `"4111111111111111"`), "its dispute has no id"},
		"unknown stage":         {change("chargeback", "CHARGEBACK"), "the stage of its dispute is not known"},
		"unknown status":        {change(`"open"`, `"opened"`), "the status of its dispute is not known"},
		"another's words":       {change(`"open"`, `"needs_response"`), "the status of its dispute is not known"},
		"no reason code":        {change(`"10_4"`, `""`), "its dispute has no reason code"},
		"a sentence as code":    {change(`"10_4"`, `"other fraud"`), "its dispute has no reason code"},
		"no time":               {change(`"updated_at"`, `"created_at"`), "its dispute has no time"},
		"year 1":                {change("2026-03-01T", "0001-03-01T"), "its dispute has no time"},
		"a number as amount":    {change(`"12.50"`, `12.5`), "its dispute cannot be parsed"},
		"a long wording":        {change(`"reason":"fraud"`, `"reason":"`+strings.Repeat("x", 501)+`"`), "a text of its dispute is too long or malformed"},
	} {
		notification, err := parse(processor.Braintree, c.body)
		if err != nil || notification.Unreadable != c.why || notification.Dispute != nil || notification.ID != "nt_1" || notification.Reference != "01abc" || !strings.Contains(notification.Body, "nt_1") {
			t.Errorf("%s: %+v %v", name, notification, err)
		}
	}
	for name, body := range map[string]string{
		"no reference":          change(`"reference":"01abc"`, `"reference":""`),
		"an id that was hidden": change(`"nt_1"`, `"4111111111111111"`),
	} {
		if _, err := parse(processor.Braintree, body); domain.ReasonOf(err) != domain.ReasonMalformedJSON || strings.Contains(err.Error(), "411111") {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := change(`"reason":"fraud"`, `"reason":"`+strings.Repeat("ü", 500)+`"`) // the limit is in characters
	if notification, err := parse(processor.Braintree, long); err != nil || notification.Dispute == nil || notification.Dispute.Wording != strings.Repeat("ü", 500) {
		t.Errorf("a wording of 500 characters: %+v %v", notification, err)
	}
	if notification, err := parse(processor.Worldpay, disputeOfWorldpay); err != nil || notification.Dispute.Amount != 1250 || notification.Dispute.TransactionID != "" || !notification.Dispute.ChallengeBy.IsZero() {
		t.Errorf("%+v %v", notification.Dispute, err)
	}
	if notification, err := parse(processor.Worldpay, strings.Replace(disputeOfWorldpay, `"exponent":2`, `"exponent":3`, 1)); err != nil || notification.Unreadable == "" {
		t.Errorf("other minor units: %+v %v", notification, err)
	}
}

const disputeOfWorldpay = `{"id":"nt_1","processor":"WORLDPAY","type":"dispute","reference":"01abc","dispute":{"caseNumber":"dp_1","stage":"CHARGEBACK","event":"RAISED",` +
	`"reason":"RC-4837","value":{"amount":1250,"exponent":2,"currencyCode":"EUR"},"date":"01/03/2026 12:00:00.5"}}`

// TestDeadlinesThatAreNone checks that an invalid deadline counts as absent (D16), and that a
// transaction id which resembles a card number is removed.
func TestDeadlinesThatAreNone(t *testing.T) {
	stripe := func(due string) string {
		return `{"id":"nt_1","processor":"STRIPE","type":"dispute","reference":"01abc","dispute":{"id":"dp_1","account":"a","charge":"ch_1","status":"needs_response",` +
			`"reason":"fraudulent","network_reason_code":"10.4","amount":100,"currency":"eur","updated_micros":1772366400000000,"evidence_details":{"due_by":` + due + `}}}`
	}
	braintree := func(by string) string { return strings.Replace(disputeOfBraintree, "2026-03-15", by, 1) }
	for _, c := range []struct {
		name       processor.Name
		body, want string
	}{
		{processor.Stripe, stripe("1773576000"), "2026-03-15T12:00:00Z"}, {processor.Stripe, stripe("9223372036854"), ""},
		{processor.Stripe, stripe("-9223372036854"), ""}, {processor.Stripe, stripe("1"), ""},
		{processor.Braintree, braintree("2026-03-15"), "2026-03-15T23:59:59Z"}, {processor.Braintree, braintree("15/03/2026"), ""}, {processor.Braintree, braintree(""), ""},
		{processor.Worldpay, strings.Replace(disputeOfWorldpay, `"date"`, `"respondBy":"soon","date"`, 1), ""},
	} {
		notification, err := parse(c.name, c.body)
		if err != nil || notification.Unreadable != "" {
			t.Errorf("%s: %s %v", c.body, notification.Unreadable, err)
			continue
		}
		text := ""
		if by := notification.Dispute.ChallengeBy; !by.IsZero() {
			text = by.Format(time.RFC3339)
		}
		if text != c.want {
			t.Errorf("%s: %s, not %s", c.body, text, c.want)
		}
	}
	hidden := strings.Replace(disputeOfBraintree, `"tx_1"`, `"4111111111111111"`, 1)
	if notification, err := parse(processor.Braintree, hidden); err != nil || notification.Unreadable != "" || notification.Dispute.TransactionID != "" || !notification.Redacted {
		t.Errorf("%+v %v", notification, err)
	}
}

// TestBodyIsKeptClean checks that card data and customer data are removed anywhere in a body,
// before it is read. A body without them, and without unknown fields, is kept byte for byte.
func TestBodyIsKeptClean(t *testing.T) {
	for name, c := range map[string]struct{ add, hidden string }{
		"a number in a text":    {`"note":"card 4111 1111 1111 1111 used"`, "4111 1111"},
		"a number as a number":  {`"x":4111111111111111`, "4111111111111111"},
		"escaped":               {`"note":"\u0034111111111111111"`, "111111111111"},
		"as a name":             {`"4111111111111111":true`, "4111111111111111"},
		"touched by letters":    {`"note":"card4111111111111111x"`, "1111"},
		"in a decimal":          {`"note":"0.4111111111111111"`, "1111"},
		"in a file's name":      {`"note":"4111111111111111.html"`, "1111"},
		"divided in any way":    {`"note":"41 111-111 1111 1111-1"`, "1111"},
		"of no known scheme":    {`"note":"card 9792030394440796"`, "9792"},
		"of 13 digits":          {`"note":"4222222222222"`, "4222"},
		"in an id of ours":      {`"more":{"idempotencyKey":"4111111111111111"}`, "4111"},
		"deep down":             {`"a":[{"b":["5555-5555-5555-4444"]}]`, "5555"},
		"a CVV":                 {`"card":{"CVV":"739"}`, "739"},
		"as a number":           {`"security_code":739`, "739"},
		"an expiry beside it":   {`"pan":"41xx","cvc2":"739"`, "739"},
		"an address of e-mail":  {`"buyer":"ada@example.org"`, "ada"},
		"the cardholder's name": {`"cardholderName":"Ada Lovelace"`, "Lovelace"},
		"a whole address":       {`"billing_address":{"line":"Main Street"}`, "Main Street"},
		"a part of the name":    {`"cardSecurityCode":"739"`, "739"},
		"of another name":       {`"card-cvv-value":"739"`, "739"},
		"a word of the name":    {`"encryptedPin":"739"`, "739"},
	} {
		notification, err := parse(processor.Adyen, strings.Replace(captured, "{", "{"+c.add+",", 1))
		if err != nil || strings.Contains(notification.Body+notification.Additional, c.hidden) || !strings.Contains(notification.Body, `"nt_1"`) || notification.ID != "nt_1" {
			t.Errorf("%s: %v %s", name, err, notification.Body)
		}
		if !notification.Redacted {
			t.Errorf("%s: it is not said that something was taken out", name)
		}
	}
	ours := strings.ReplaceAll(captured, "01abc", "01a4111111111111111b")
	for _, body := range []string{captured, " " + captured + "\n", ours, strings.Replace(captured, "tx_1", "8825408195409504", 1)} {
		if notification, err := parse(processor.Adyen, body); err != nil || notification.Redacted || notification.Body != body || notification.Additional != "" {
			t.Errorf("%v %+v", err, notification)
		}
	}
	for _, others := range []string{`"at":1772366400123456,"cvv":null,"n":1.50`, `"company":{"note":1},"cvvResult":"MATCHED","expand":{"note":2},"shipping":"none"`} {
		notification, err := parse(processor.Adyen, strings.Replace(captured, "{", "{"+others+",", 1))
		if err != nil || notification.Redacted || notification.Additional != "{"+others+"}" {
			t.Errorf("%v %+v", err, notification)
		}
	}
	wording := strings.Replace(disputeOfBraintree, `"reason":"fraud"`, `"reason":"stolen 4111111111111111"`, 1)
	if notification, err := parse(processor.Braintree, wording); err != nil || strings.Contains(notification.Dispute.Wording, "4111") || notification.Dispute.Wording == "" {
		t.Errorf("%+v %v", notification.Dispute, err)
	}
}

// TestNotificationsSinceReadsWhatItCan checks that a notification without a payment is counted,
// that one with an unreadable dispute is returned, that neither hides later ones, and that an
// unreadable answer is unknown. The whole lists have all that can be read, and say that some
// cannot.
func TestNotificationsSinceReadsWhatItCan(t *testing.T) {
	unknown := strings.NewReplacer(`"nt_1"`, `"nt_2"`, `"open"`, `"reopened"`).Replace(disputeOfBraintree)
	c, _ := answering(t, 200, `{"notifications":[{"id":"x"},`+unknown+`,`+disputeOfBraintree+`,`+captured+`],"next":"nt_9","more":true}`)
	page, err := c.NotificationsSince(t.Context(), processor.Braintree, since, "")
	if err != nil || len(page.Notifications) != 2 || page.Unreadable != 2 || page.Next != "nt_9" || !page.More || page.Notifications[1].Dispute.ID != "dp_1" ||
		page.Notifications[0].ID != "nt_2" || page.Notifications[0].Unreadable == "" {
		t.Errorf("%+v %v", page, err)
	}
	c, _ = answering(t, 200, `{"notifications":[{"id":"x"},`+unknown+`,`+disputeOfBraintree+`,`+captured+`],"next":"nt_9","more":false}`)
	of, err := c.DisputesOf(t.Context(), processor.Braintree, "01abc")
	if !errors.Is(err, processor.ErrUnreadable) || len(of) != 1 || of[0].ID != "nt_1" {
		t.Errorf("of a payment: %+v %v", of, err)
	}
	var all []processor.Notification
	err = c.DisputesReported(t.Context(), processor.Braintree, since, time.Time{}, func(n processor.Notification) error {
		all = append(all, n)
		return nil
	})
	if !errors.Is(err, processor.ErrUnreadable) || len(all) != 2 || all[0].Dispute != nil || all[0].Reference != "01abc" || all[1].Dispute == nil {
		t.Errorf("by time: %+v %v", all, err)
	}
	c, _ = answering(t, 200, `{"notifications":[`+unknown+`],"next":"nt_9","more":false}`)
	if err = c.DisputesReported(t.Context(), processor.Braintree, since, time.Time{}, func(processor.Notification) error { return nil }); err != nil {
		t.Errorf("each names its payment: %v", err)
	}
	for _, bad := range []string{"<html>", `{"notifications":1}`} {
		c, _ := answering(t, 200, bad)
		if _, err := c.NotificationsSince(t.Context(), processor.Braintree, since, ""); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	asked := ""
	c = serving(t, func(w http.ResponseWriter, r *http.Request) { asked = r.URL.RequestURI(); _, _ = w.Write([]byte(`{}`)) })
	if _, err := c.NotificationsSince(t.Context(), processor.Adyen, since, "nt_1 &"); err != nil || asked != protocol.DisputesPath(processor.Adyen)+"?after=nt_1+%26" {
		t.Errorf("%s %v", asked, err)
	}
}

// FuzzParseDispute checks that no signed body makes it panic, and that an accepted body is a whole
// fact without card data.
func FuzzParseDispute(f *testing.F) {
	f.Add("BRAINTREE", []byte(disputeOfBraintree))
	for _, name := range processor.Names {
		f.Add(string(name), []byte(`{"id":"1","processor":"`+string(name)+`","type":"dispute","reference":"01a","dispute":{}}`))
	}
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		if !processorNamed(name) {
			return
		}
		notification, err := parse(processor.Name(name), string(body))
		if err != nil || notification.Kind != processor.Dispute {
			return
		}
		if (notification.Dispute == nil) == (notification.Unreadable == "") {
			t.Fatalf("%q gives %+v", body, notification)
		}
		if notification.Dispute == nil {
			return
		}
		d := notification.Dispute
		if d.ID == "" || d.At.IsZero() || d.Amount < 0 || d.Amount > domain.MaxAmount || !d.Currency.Known() || domain.MayHoldCardNumber(d.Wording) {
			t.Fatalf("%q gives %+v", body, d)
		}
	})
}

func processorNamed(name string) bool {
	for _, n := range processor.Names {
		if string(n) == name {
			return true
		}
	}
	return false
}

// TestPlainDispute: each processor may send a dispute in the protocol's own form. Its fields are
// stored in clear, others apart.
func TestPlainDispute(t *testing.T) {
	const dispute = `{"processorDisputeId":"dp_1","processorMerchantId":"m 1","processorTransactionId":"tx_1","disputeType":"PREARBITRATION","status":"OPEN",` +
		`"reasonCode":"10.4","processorReason":"fraud","amount":1250,"currency":"KWD","challengeRequiredBy":"2026-03-15T00:00:00Z","at":"2026-03-01T13:00:00+01:00","note":"x"}`
	want := processor.DisputeUpdate{
		ID: "dp_1", MerchantID: "m 1", TransactionID: "tx_1", Type: processor.Prearbitration, Status: processor.DisputeOpen, ReasonCode: "10.4",
		Wording: "fraud", Amount: 1250, Currency: "KWD", ChallengeBy: time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC), At: since,
	}
	for _, name := range append(slices.Clone(processor.Names), "ANOTHER") {
		body := `{"id":"nt_1","processor":"` + string(name) + `","type":"dispute","reference":"01abc","dispute":` + dispute + `}`
		n, err := parse(name, body)
		if err != nil || n.Unreadable != "" || *n.Dispute != want || n.Additional != `{"dispute":{"note":"x"}}` || strings.Contains(n.Body, "note") {
			t.Errorf("%s: %+v %+v %v", name, n, n.Dispute, err)
		}
	}
	for _, wrong := range []string{`"OPEN"`, `"10.4"`, `"KWD"`, `1250`, `"dp_1"`, `"at"`} {
		body := `{"id":"nt_1","processor":"ADYEN","type":"dispute","reference":"01abc","dispute":` + strings.Replace(dispute, wrong, `"? ?"`, 1) + `}`
		if n, err := parse(processor.Adyen, body); err != nil || n.Unreadable == "" {
			t.Errorf("without %s: %+v %v", wrong, n, err)
		}
	}
}
