package servicetest

import (
	"encoding/json"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/httpapi/client"
)

// TestPaymentsCommand checks that payments lists the payments of the filters, and shows one payment
// with its next step and its page (I1).
func TestPaymentsCommand(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	if out := apptest.Look(t, m, "payments"); !strings.Contains(out, "No payment fits.") {
		t.Errorf("without payments: %s", out)
	}
	var paid, declined apptest.PaymentAnswer
	for _, one := range []struct {
		order, card string
		into        *apptest.PaymentAnswer
	}{{"order-1\u202e", "4111111111111111", &paid}, {"order-2", apptest.DeclinedCard, &declined}} {
		made, err := m.Pay(m.Token(t, one.order, 1250, one.card), "")
		if err != nil {
			t.Fatal(err)
		}
		made.Decode(t, one.into)
	}
	all := apptest.Look(t, m, "payments")
	if !strings.HasPrefix(all, "PAYMENT ") || strings.Count(all, "\n") != 3 || !strings.Contains(all, "12.50 EUR") || strings.Contains(all, "\u202e") {
		t.Errorf("all payments:\n%s", all)
	}
	for _, c := range []struct {
		args       []string
		with, none string
	}{
		{[]string{"--status", "DECLINED,FAILED"}, declined.ID, paid.ID},
		{[]string{"--order", "order-2"}, declined.ID, paid.ID},
		{[]string{"--processor", paid.Processor.Name, "--status", "AUTHORIZED"}, paid.ID, declined.ID},
		{[]string{"--limit", "1"}, declined.ID, paid.ID},
		{[]string{"--from", "2020-01-01", "--order", "order-2"}, declined.ID, paid.ID},
	} {
		if out := apptest.Look(t, m, append([]string{"payments"}, c.args...)...); !strings.Contains(out, c.with) || strings.Contains(out, c.none) {
			t.Errorf("%v:\n%s", c.args, out)
		}
	}
	if out := apptest.Look(t, m, "payments", "--to", "2020-01-01"); !strings.Contains(out, "No payment fits.") {
		t.Errorf("before the first payment: %s", out)
	}
	if out := apptest.Look(t, m, "payments", "--limit", "1"); !strings.Contains(out, "The newest 1 payment; ") {
		t.Errorf("a part of the list does not say so: %s", out)
	}
	var line client.Payment
	if out := apptest.Look(t, m, "payments", "--json", "--order", "order-2"); json.Unmarshal([]byte(out), &line) != nil || line.ID != declined.ID {
		t.Errorf("as JSON: %s", out)
	}
	shown := apptest.Look(t, m, "payments", "show", paid.ID)
	for _, part := range []string{"status     AUTHORIZED", "amount     12.50 EUR", "VISA •••• 1111", "AUTHORIZATION_SUCCEEDED", "next       Capture 12.50 EUR", m.API + "/dashboard/payments/" + paid.ID} {
		if !strings.Contains(shown, part) {
			t.Errorf("the payment lacks %q:\n%s", part, shown)
		}
	}
	if strings.Contains(shown, "\u202e") {
		t.Errorf("the order turns the line around: %q", shown)
	}
	if shown := apptest.Look(t, m, "payments", "show", declined.ID); !strings.Contains(shown, "DECLINED (ISSUER_DECLINED SOFT_DECLINE DO_NOT_HONOR)") || !strings.Contains(shown, "RETRY_LATER") {
		t.Errorf("a declined payment:\n%s", shown)
	}
	if out := apptest.Look(t, m, "payments", "show", paid.ID, "--json"); json.Unmarshal([]byte(out), &line) != nil || line.Status != "AUTHORIZED" || len(line.Transactions[0].Events) == 0 {
		t.Errorf("one payment as JSON: %s", out)
	}
}

// TestPaymentsCommandFaults: a fault is one line with its remedy (I1).
func TestPaymentsCommandFaults(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	key := app.Credentials.APIKey
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{2, "--api-key (PAYLEDGER_API_KEY) is needed", []string{"payments", "--url", app.API.URL}},
		{2, "--url must be an http or https URL", []string{"payments", "--url", "localhost", "--api-key", key}},
		{2, "--forward-to must be like", []string{"listen", "--forward-to", "nonsense", "--url", app.API.URL, "--api-key", key}},
		{2, "neither a day", []string{"payments", "--from", "yesterday", "--url", app.API.URL, "--api-key", key}},
		{1, "is the server running", []string{"payments", "--url", "http://127.0.0.1:1", "--api-key", key}},
		{1, "RequestValidationError: The request is not valid. --status must be ", []string{"payments", "--status", "PAID", "--url", app.API.URL, "--api-key", key}},
		{1, "RequestValidationError: The request is not valid. --processor must be ", []string{"payments", "--processor", "BANK", "--url", app.API.URL, "--api-key", key}},
		{1, "RequestValidationError: The request is not valid. --events must be ", []string{"listen", "--forward-to", "127.0.0.1:9000", "--events", "NOPE", "--url", app.API.URL, "--api-key", key}},
		{1, "PaymentError: ", []string{"payments", "show", "no-such-payment", "--url", app.API.URL, "--api-key", key}},
		{1, "Unauthorized: ", []string{"payments", "--url", app.API.URL, "--api-key", key + "x"}},
		{1, "the answer is not one of the API", []string{"payments", "--url", app.Admin.URL, "--api-key", key}},
		{2, "everybody on the machine can read the arguments", []string{"payments", "--url", app.API.URL, "--api-key", "plk_live_x"}},
	} {
		status, out, said := apptest.Invoke(t, c.args...)
		if status != c.status || out != "" || !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 {
			t.Errorf("%v: status %d, %q, %s", c.args, status, out, said)
		}
	}
}
