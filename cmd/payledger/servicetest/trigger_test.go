package servicetest

import (
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
)

// TestTrigger checks that every name of the list has the listed result: the payment has the status,
// and the output has its ids and page.
func TestTrigger(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.PaymentTimeout = 15 * time.Second // one scenario waits for it, the others must end before
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	_, list, _ := apptest.Invoke(t, "trigger", "--list")
	ends := map[string]string{ // except for names whose line in the list ends with the status
		"decline": "DECLINED", "no-funds": "DECLINED", "refund": "SETTLED", "refund-failed": "SETTLED", "dispute": "SETTLED", "dispute-won": "SETTLED", "dispute-lost": "SETTLED",
		"timeout": "AUTHORIZED", "manual-abort": "",
	}
	for line := range strings.Lines(list) {
		name, about, _ := strings.Cut(strings.TrimSpace(line), " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := apptest.Look(t, m, "trigger", name, "--simulator", app.Sim.URL, "--amount", "1001")
			want, special := ends[name]
			if !special {
				want = about[strings.LastIndexByte(about, ' ')+1:]
			}
			if want == "" {
				if strings.Contains(out, "\npayment") || !strings.Contains(out, "ABORTED") {
					t.Errorf("there is a payment:\n%s", out)
				}
				return
			}
			_, after, _ := strings.Cut(out, "\npayment    ")
			id, _, _ := strings.Cut(after, "\n")
			var p apptest.PaymentAnswer
			m.Must(t, "GET", "/payments/"+id, m.Headers(), nil).Decode(t, &p)
			if p.Status != want || p.Amount != 1001 || !strings.Contains(out, "\nstatus     "+want) || !strings.Contains(out, m.API+"/dashboard/payments/"+id) {
				t.Errorf("the payment is %s of %d, wanted %s:\n%s", p.Status, p.Amount, want, out)
			}
			if strings.HasPrefix(name, "dispute") && !strings.Contains(out, "\ndispute    ") {
				t.Errorf("no id of the dispute:\n%s", out)
			}
			shown := apptest.Look(t, m, "payments", "show", id)
			for _, text := range []string{out, shown} {
				if next := nextOf(text); !strings.HasPrefix(next, nexts[name]) || strings.HasPrefix(name, "dispute") && name != "dispute-won" && strings.Contains(next, "/refund") {
					t.Errorf("the next step is %q, wanted %q", next, nexts[name])
				}
			}
			if strings.HasPrefix(name, "dispute") != strings.Contains(shown, "\ndispute    ") {
				t.Errorf("payments show:\n%s", shown)
			}
		})
	}
}

// nexts are the first words of the next step after a failed operation or a dispute.
var nexts = map[string]string{
	"capture-failed": "The capture failed, and took no money;", "cancel-failed": "The cancel failed; the amount stays reserved",
	"refund-failed": "The refund failed, and the customer got no money. Refund up to 10.01 EUR again",
	"capture":       "If the customer returns something, refund up to 10.01 EUR",
	"dispute":       "Answer the dispute by ", "dispute-won": "Nothing about the dispute: you won it,",
	"dispute-lost": "Nothing: the dispute has already returned 10.01 EUR to the customer.",
}

// nextOf returns the next step in the output of a command.
func nextOf(out string) string {
	_, next, _ := strings.Cut(out, "\nnext       ")
	next, _, _ = strings.Cut(next, "\n")
	return next
}

// TestTriggerFaults: trigger refuses production and unknown names before it sends anything (I1).
func TestTriggerFaults(t *testing.T) {
	t.Parallel()
	const live = "plk_live_abc_def"
	for _, c := range []struct {
		says string
		args []string
	}{
		{"trigger --list", []string{"trigger"}},
		{`there is no "explode"`, []string{"trigger", "explode", "--api-key", "k"}},
		{"is for the sandbox only", []string{"trigger", "pay", "--api-key", live}},
		{"needs --simulator URL", []string{"trigger", "dispute-lost", "--api-key", "k"}},
		{"--amount 1 must be at least 2", []string{"trigger", "pay", "--api-key", "k", "--amount", "1"}},
		{"write digits only, as in 2500 for 2.500 KWD", []string{"trigger", "pay", "--api-key", "k", "--currency", "KWD", "--amount", "1,500"}},
		{"write digits only, as in 2500 for 25.00 EUR", []string{"trigger", "pay", "--api-key", "k", "--amount", "25.00"}},
		{"--after: expected a number without leading zeros, such as 250, but got \"0250\"", []string{"tail", "--after", "0250"}},
		{"--api-key (PAYLEDGER_API_KEY) is needed", []string{"trigger", "pay"}},
	} {
		status, out, said := apptest.Invoke(t, c.args...)
		if status != 2 || out != "" || !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 {
			t.Errorf("%v: status %d, %q, %s", c.args, status, out, said)
		}
	}
}
