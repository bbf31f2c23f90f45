package webhookpages

import (
	"fmt"
	"time"

	"payledger/domain/webhook"
	"payledger/httpapi/dashboard/frame"
)

// eventType is a kind of webhook with its meaning (§6.2).
type eventType struct{ Name, Text string }

var kindTexts = map[webhook.Kind]string{
	webhook.PaymentStatus:      "The status of a payment changed",
	webhook.PaymentRefund:      "A refund ended",
	webhook.CaptureFailed:      "A capture failed",
	webhook.RefundFailed:       "A refund failed",
	webhook.CancellationFailed: "A cancellation failed",
	webhook.AdjustmentFailed:   "An adjustment of an authorization failed",
	webhook.DisputeOpened:      "A dispute opened",
	webhook.DisputeStatus:      "A dispute changed",
	webhook.WorkflowRunFailed:  "A run of a workflow failed",
}

func eventTypes() (all []eventType) {
	for _, k := range webhook.Kinds() {
		all = append(all, eventType{string(k), kindTexts[k]})
	}
	return all
}

// outcomes are the outcomes of deliveries, in the order of a delivery's life.
var outcomes = []string{"PLANNED", "FAILED", "SUCCEEDED", "EXHAUSTED", "CANCELLED"}

var outcomeTexts = map[string]string{
	"PLANNED":   "The first attempt is pending.",
	"FAILED":    "The last attempt failed. Another one follows by itself.",
	"SUCCEEDED": "The receiver has answered with a 2xx status.",
	"EXHAUSTED": "All automatic attempts failed. No further one follows. You can resend it.",
	"CANCELLED": "The endpoint was deleted or disabled when an attempt was due. No further one follows. You can resend it when the endpoint is enabled.",
}

type reason struct{ Text, Advice string }

var reasons = map[string]reason{
	"STATUS":             {"The receiver did not answer with a 2xx status.", "Look at your receiver's log for this time. Redirects count as failures: set the final address."},
	"TIMEOUT":            {"No answer came in time.", "Answer first and work afterwards: an attempt may take 10 seconds unless the operator set another limit."},
	"DNS":                {"The name of the host could not be resolved.", "Check the host in the endpoint's URL and its DNS records."},
	"CONNECTION_REFUSED": {"No program listens at this address.", "Start your receiver, and check the port in the URL."},
	"UNREACHABLE":        {"No connection could be made.", "Check the address, and that your firewall lets it through."},
	"TLS":                {"The TLS handshake failed, or the certificate is not valid.", "Check the certificate: its name, its dates and its chain."},
	"CONNECTION_LOST":    {"The connection ended before an answer.", "Look for a crash or a restart of your receiver or of its proxy."},
	"PROTOCOL":           {"The answer is not HTTP.", "Check that the port in the URL speaks HTTP, with or without TLS as the URL says."},
	"ADDRESS_REFUSED":    {"Webhooks may not go to this address.", "Use a public address. In the sandbox the operator can allow private ones: --webhook-allow-cidr."},
}

func reasonOf(failure string) *reason {
	if failure == "" {
		return nil
	}
	if r, known := reasons[failure]; known {
		return &r
	}
	return &reason{Text: failure}
}

const localTime = "2006-01-02T15:04"

// granules are the accepted forms of a typed time, with the length of what each names.
var granules = []struct {
	layout string
	long   time.Duration
}{{localTime, time.Minute}, {"2006-01-02T15:04:05", time.Second}, {time.DateOnly, 24 * time.Hour}, {time.RFC3339, time.Microsecond}, {frame.ShownTime, time.Second}}

// moment reads a time in UTC that a person typed. end takes the last moment of the minute, second
// or day, so that a period includes it.
func moment(text string, end bool) (time.Time, error) {
	for _, g := range granules {
		at, err := time.Parse(g.layout, text)
		if err != nil {
			continue
		}
		if end {
			at = at.Add(g.long - time.Microsecond)
		}
		return at.UTC(), nil
	}
	return time.Time{}, fmt.Errorf("Write the time as in 2026-03-14T09:30, in UTC.") //nolint:staticcheck,revive // a sentence for people
}
