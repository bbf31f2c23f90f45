package connector

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/conformance"
	"payledger/processorsim/protocol"
)

// declaring is a double with a test card. It has no limits of amounts, so a capture above its
// authorization succeeds: the promises about amounts are those of a vendor.
type declaring struct{ *double }

func (declaring) Declaration() protocol.Declaration {
	return protocol.Declaration{Connector: "double", Cannot: []protocol.Lack{}, TestCards: map[protocol.TestCase]string{
		protocol.CardApproved: "4242424242424242",
	}}
}

// TestPromises: the kit keeps the promises about tokens, errors, keys, look-ups, fences, lists and
// card data, before a vendor with keys and before one without.
func TestPromises(t *testing.T) {
	for name, life := range map[string]time.Duration{"keys": 24 * time.Hour, "no keys": 0} {
		t.Run(name, func(t *testing.T) {
			k, err := New(t.Context(), Config{
				Name: processor.Stripe, Vendor: declaring{newDouble(life, time.Now)}, Dir: t.TempDir(), Secret: []byte("secret"), Token: "token-of-the-ledger",
			})
			must(t, err)
			server := httptest.NewServer(k.Handler())
			defer server.Close()
			defer k.Close(context.Background())
			report, err := conformance.Run(t.Context(), conformance.Config{
				URL: server.URL, Processor: processor.Stripe, Token: "token-of-the-ledger", Secret: "secret", Destructive: true,
				Only: []string{
					"declaration", "declaration.other", "token", "error.path", "error.method", "error.key", "error.body", "error.size", "error.unknown-field",
					"lookup.unseen", "lookup.key-in-path", "lookup.during", "lookup.lost-answer", "key.repeat", "key.concurrent", "key.reused",
					"fence.before", "fence.after", "fence.race", "authorize", "amount.largest", "capture", "dispute.cursor",
					"list.unknown", "list.payment", "list.time-bounds", "list.time-wrong", "secret.error", "secret.answer", "answer.about", "answer.transaction",
				},
			})
			must(t, err)
			for _, f := range report.Checks {
				if f.Result != conformance.Holds {
					t.Errorf("%s %s: %s", f.ID, f.Result, f.Reason)
				}
			}
		})
	}
}
