package docs

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed webhooks
var webhookFiles embed.FS

// webhook is a kind of webhook (§6.2).
type webhook struct {
	Type, When, Version, Body string
}

// Anchor is the place in the page.
func (w webhook) Anchor() string { return Path + "/webhooks#" + w.Type }

// webhookKinds are the kinds in the order of openapi.yaml, with the time of sending (§6.2) and the
// version of the body (D17).
var webhookKinds = []webhook{
	{Type: "PAYMENT.STATUS", Version: "2.1", When: "The status of a payment has changed. The payment is in the state after the change."},
	{Type: "PAYMENT.REFUND", Version: "2.1", When: "A refund has ended: the newest REFUND transaction is SETTLED (the money went back) or FAILED (it did not)."},
	{Type: "PAYMENT.CAPTURE.FAILED", Version: "2.4", When: "An attempt to capture has failed. The payment itself has not failed, and its status does not change."},
	{Type: "PAYMENT.REFUND.FAILED", Version: "2.4", When: "An attempt to refund has failed. The payment keeps its status."},
	{Type: "PAYMENT.CANCELLATION.FAILED", Version: "2.4", When: "An attempt to cancel has failed. The payment keeps its status. If that is PENDING, the cancel is tried again when the processor answers, at the latest when it approves the payment. If the payment was PENDING when the cancel was requested, and is AUTHORIZED now, the cancel is tried again once, at once. The second PAYMENT.CANCELLATION.FAILED of an AUTHORIZED payment ends the cancel: a new request is needed."},
	{Type: "PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED", Version: "2.4", When: "An attempt to adjust the authorized amount has failed. The authorized amount stays."},
	{Type: "DISPUTE.OPENED", Version: "2.1", When: "A customer disputes a payment: a dispute or a chargeback was opened."},
	{Type: "DISPUTE.STATUS", Version: "2.4", When: "A retrieval, dispute or pre-arbitration has changed. challengeRequiredBy is the deadline for an answer."},
	{Type: "WORKFLOW_RUN.FAILED", Version: "1.0", When: "A run of a workflow has failed. lastError names the action."},
}

func webhooks() ([]webhook, error) {
	all := make([]webhook, len(webhookKinds))
	for i, w := range webhookKinds {
		body, err := webhookFiles.ReadFile("webhooks/" + w.Type + ".json")
		if err != nil {
			return nil, fmt.Errorf("docs: %w", err)
		}
		w.Body = strings.TrimSpace(string(body))
		all[i] = w
	}
	return all, nil
}
