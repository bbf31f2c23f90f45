package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v84"
	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"

	"payledger/domain"
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
				Outside: r.captureElsewhere,
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
			untried := []string{"capture.fails", "refund.fails", "void.fails", "void.pending", "pending.authorize", "pending.capture", "notification", "notification.repeat", "token.forgotten", "token.network"}
			if !slices.Equal(left[conformance.Cannot], cannot) || !slices.Equal(left[conformance.NotTried], untried) {
				t.Errorf("cannot: %v, not tried: %v", left[conformance.Cannot], left[conformance.NotTried])
			}
		})
	}
}

// captureElsewhere captures an authorization as Stripe's pages do: without the connector's key and
// metadata.
func (r *rig) captureElsewhere(ctx context.Context, _ domain.PaymentID, transaction string) error {
	intent, _, _ := strings.Cut(transaction, ".")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.stripe.URL+"/v1/payment_intents/"+intent+"/capture", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+apiKey)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Stripe-Version", stripe.APIVersion)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s", response.StatusCode, body)
	}
	return nil
}
