package api_test

import (
	"slices"
	"testing"
	"time"

	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/conformance"
)

// TestConformance: the connector keeps every promise of the protocol that Stripe allows, with
// multicapture and without.
func TestConformance(t *testing.T) {
	for name, several := range map[string]bool{"multicapture": true, "one capture": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *api.Config, d *double.Config) { c.Multicapture, d.NoMulticapture = several, !several })
			report, err := conformance.Run(t.Context(), conformance.Config{
				URL: r.web.URL, Processor: processor.Stripe, Token: ledgerToken, Secret: secret, Destructive: true, Patience: 20 * time.Second,
				Elapse: func(d time.Duration) {
					r.clock.Advance(d)
					r.deliver()
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			left := map[conformance.Result][]string{}
			for _, f := range report.Checks {
				t.Logf("%-24s %-9s %s", f.ID, f.Result, f.Reason)
				left[f.Result] = append(left[f.Result], f.ID)
				if f.Result == conformance.Broken {
					t.Errorf("%s: %s", f.ID, f.Reason)
					for _, e := range f.Exchanges {
						t.Logf("  %+v", e)
					}
				}
			}
			cannot := []string{"refund.of-capture", "adjust"}
			if !several {
				cannot = []string{"capture.several", "capture.simultaneous", "refund.of-capture", "void.rest", "adjust"}
			}
			untried := []string{"capture.fails", "refund.fails", "void.fails", "pending.authorize", "pending.capture", "notification", "notification.repeat", "token.forgotten", "token.network"}
			if !slices.Equal(left[conformance.Cannot], cannot) || !slices.Equal(left[conformance.NotTried], untried) {
				t.Errorf("cannot: %v, not tried: %v", left[conformance.Cannot], left[conformance.NotTried])
			}
		})
	}
}
