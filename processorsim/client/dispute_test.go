package client_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/client"
	"payledger/processorsim/protocol"
)

const disputeOfBraintree = `{"id":"nt_1","processor":"BRAINTREE","type":"dispute","reference":"01abc","dispute":{"id":"dp_1","merchant_account_id":"m 1",` +
	`"order_id":"01abc","transaction":{"id":"tx_1"},"kind":"chargeback","status":"open","reason":"fraud","reason_code":"10_4","amount_disputed":"12.50",` +
	`"currency_iso_code":"EUR","updated_at":"2026-03-01T12:00:00.123456Z","reply_by_date":"2026-03-15"}}`

var since = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// parse reads a signed notification.
func parse(name processor.Name, body string) (processor.SignedNotification, error) {
	return client.ParseNotification(notificationSecret, name, signed(notificationSecret, body), []byte(body))
}

// TestDisputeAmounts: decimal amounts have exactly the digits of their currency (§6.4: zero-decimal currencies too).
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
		told, err := parse(processor.Braintree, body)
		if c.want < 0 && domain.ReasonOf(err) != domain.ReasonMalformedJSON || c.want >= 0 && (err != nil || told.Dispute.Amount != c.want) {
			t.Errorf("%s %s: %+v %v", c.amount, c.currency, told.Dispute, err)
		}
	}
}

// TestMalformedDisputes: signed, and no fact all the same; what was told is not repeated.
func TestMalformedDisputes(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(disputeOfBraintree, old, new, 1) }
	if _, err := parse(processor.Braintree, disputeOfBraintree); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"no dispute":            change(`"dispute":{`, `"other":{`),
		"null":                  disputeOfBraintree[:strings.Index(disputeOfBraintree, `{"id":"dp_1"`)] + "null}",
		"a list":                disputeOfBraintree[:strings.Index(disputeOfBraintree, `{"id":"dp_1"`)] + "[]}",
		"no dispute id":         change(`"dp_1"`, `""`),
		"a blank in its id":     change(`"dp_1"`, `"dp 1"`),
		"a long id":             change(`"dp_1"`, `"`+strings.Repeat("x", 129)+`"`),
		"unknown stage":         change("chargeback", "CHARGEBACK"),
		"unknown status":        change(`"open"`, `"opened"`),
		"another's words":       change(`"open"`, `"needs_response"`),
		"no reason code":        change(`"10_4"`, `""`),
		"a sentence as code":    change(`"10_4"`, `"other fraud"`),
		"no time":               change(`"updated_at"`, `"created_at"`),
		"year 1":                change("2026-03-01T", "0001-03-01T"),
		"no date as deadline":   change("2026-03-15", "15/03/2026"),
		"a number as amount":    change(`"12.50"`, `12.5`),
		"no reference":          change(`"reference":"01abc"`, `"reference":""`),
		"a long wording":        change(`"reason":"fraud"`, `"reason":"`+strings.Repeat("x", 501)+`"`),
		"an id that was hidden": change(`"nt_1"`, `"4111111111111111"`),
	} {
		_, err := parse(processor.Braintree, body)
		if domain.ReasonOf(err) != domain.ReasonMalformedJSON {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "dp_") || strings.Contains(err.Error(), "411111") {
			t.Errorf("%s: the error repeats the body: %v", name, err)
		}
	}
	worldpay := `{"id":"nt_1","processor":"WORLDPAY","type":"dispute","reference":"01abc","dispute":{"caseNumber":"dp_1","stage":"CHARGEBACK","event":"RAISED",` +
		`"reason":"RC-4837","value":{"amount":1250,"exponent":2,"currencyCode":"EUR"},"date":"01/03/2026 12:00:00.5"}}`
	if told, err := parse(processor.Worldpay, worldpay); err != nil || told.Dispute.Amount != 1250 || told.Dispute.TransactionID != "" || !told.Dispute.ChallengeBy.IsZero() {
		t.Errorf("%+v %v", told.Dispute, err)
	}
	if _, err := parse(processor.Worldpay, strings.Replace(worldpay, `"exponent":2`, `"exponent":3`, 1)); domain.ReasonOf(err) != domain.ReasonMalformedJSON {
		t.Errorf("other minor units: %v", err)
	}
}

// TestBodyIsKeptClean: card data and what tells of the customer is taken out wherever it stands, before anything is
// read; a body without any is kept as it came, byte for byte.
func TestBodyIsKeptClean(t *testing.T) {
	for name, c := range map[string]struct{ add, hidden string }{
		"a number in a text":    {`"note":"card 4111 1111 1111 1111 used"`, "4111 1111"},
		"a number as a number":  {`"x":4111111111111111`, "4111111111111111"},
		"escaped":               {`"note":"\u0034111111111111111"`, "111111111111"},
		"as a name":             {`"4111111111111111":true`, "4111111111111111"},
		"deep down":             {`"a":[{"b":["5555-5555-5555-4444"]}]`, "5555"},
		"a CVV":                 {`"card":{"CVV":"739"}`, "739"},
		"as a number":           {`"security_code":739`, "739"},
		"an expiry beside it":   {`"pan":"41xx","cvc2":"739"`, "739"},
		"an address of e-mail":  {`"buyer":"ada@example.org"`, "ada"},
		"the cardholder's name": {`"cardholderName":"Ada Lovelace"`, "Lovelace"},
		"a whole address":       {`"billing_address":{"line":"Main Street"}`, "Main Street"},
	} {
		told, err := parse(processor.Adyen, strings.Replace(captured, "{", "{"+c.add+",", 1))
		if err != nil || !told.Redacted || strings.Contains(told.Body, c.hidden) || !strings.Contains(told.Body, `"nt_1"`) || told.ID != "nt_1" {
			t.Errorf("%s: %v %s", name, err, told.Body)
		}
	}
	for _, body := range []string{captured, " " + captured + "\n", strings.Replace(captured, "{", `{"at":1772366400123456,"n":1.50,"cvv":null,`, 1)} {
		if told, err := parse(processor.Adyen, body); err != nil || told.Redacted || told.Body != body {
			t.Errorf("%v %v %s", err, told.Redacted, told.Body)
		}
	}
	wording := strings.Replace(disputeOfBraintree, `"reason":"fraud"`, `"reason":"stolen 4111111111111111"`, 1)
	if told, err := parse(processor.Braintree, wording); err != nil || strings.Contains(told.Dispute.Wording, "4111") || told.Dispute.Wording == "" {
		t.Errorf("%+v %v", told.Dispute, err)
	}
}

// TestToldSinceReadsWhatItCan: what cannot be read is counted, and does not hide what comes after it; an answer that is
// none is unknown.
func TestToldSinceReadsWhatItCan(t *testing.T) {
	c, _ := answering(t, 200, `{"notifications":[{"id":"x"},`+disputeOfBraintree+`,`+captured+`],"next":"nt_9","more":true}`)
	page, err := c.ToldSince(t.Context(), processor.Braintree, since, "")
	if err != nil || len(page.Told) != 1 || page.Unreadable != 2 || page.Next != "nt_9" || !page.More || page.Told[0].Dispute.ID != "dp_1" {
		t.Errorf("%+v %v", page, err)
	}
	for _, bad := range []string{"<html>", `{"notifications":1}`} {
		c, _ := answering(t, 200, bad)
		if _, err := c.ToldSince(t.Context(), processor.Braintree, since, ""); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	asked := ""
	c = serving(t, func(w http.ResponseWriter, r *http.Request) { asked = r.URL.RequestURI(); _, _ = w.Write([]byte(`{}`)) })
	if _, err := c.ToldSince(t.Context(), processor.Adyen, since, "nt_1 &"); err != nil || asked != protocol.DisputesPath(processor.Adyen)+"?after=nt_1+%26" {
		t.Errorf("%s %v", asked, err)
	}
}

// FuzzParseDispute: nothing that a processor signs makes it panic, and what it takes is a whole fact without card data.
func FuzzParseDispute(f *testing.F) {
	f.Add("BRAINTREE", []byte(disputeOfBraintree))
	for _, name := range processor.Names {
		f.Add(string(name), []byte(`{"id":"1","processor":"`+string(name)+`","type":"dispute","reference":"01a","dispute":{}}`))
	}
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		if !processorNamed(name) {
			return
		}
		told, err := parse(processor.Name(name), string(body))
		if err != nil || told.Kind != processor.Dispute {
			return
		}
		d := told.Dispute
		if d.ID == "" || d.At.IsZero() || d.Amount < 0 || d.Amount > domain.MaxAmount || !d.Currency.Known() || domain.HoldsCardNumber(d.Wording+" | "+d.ID) {
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
