package double

import "slices"

// dispute is a Dispute.
type dispute struct {
	id, status string
	of         *intent
	created    int64
	due        int64
	evidence   int64 // number of submissions
	late       bool
	reason     string
	network    string
}

const evidenceDays = 9 * 24 * 60 * 60

func (d *Double) dispute(i *intent) *dispute {
	i.charge.disputed = true
	p := &dispute{id: d.id("du"), status: "needs_response", of: i, created: d.seconds(), due: d.seconds() + evidenceDays, reason: "fraudulent", network: "10.4"}
	d.disputes = append(d.disputes, p)
	d.emit("charge.dispute.created", object{"id": p.id, "object": "dispute"})
	d.emit("charge.dispute.funds_withdrawn", object{"id": p.id, "object": "dispute"})
	return p
}

// Dispute opens a dispute of a PaymentIntent, and returns its id.
func (d *Double) Dispute(intent, status, reason, network string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.dispute(d.intents[intent])
	p.status, p.reason, p.network = status, reason, network
	return p.id
}

// Rule changes a dispute: evidence is the number of the merchant's submissions.
func (d *Double) Rule(id, status string, evidence int64, late bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.disputes, func(p *dispute) bool { return p.id == id })
	if at < 0 {
		return
	}
	p := d.disputes[at]
	p.status, p.evidence, p.late = status, evidence, late
	kind := "charge.dispute.updated"
	if status == "won" || status == "lost" || status == "warning_closed" {
		kind = "charge.dispute.closed"
	}
	d.emit(kind, object{"id": p.id, "object": "dispute"})
}

func (d *Double) getDispute(c call) answer {
	for _, p := range d.disputes {
		if p.id != c.id {
			continue
		}
		o := object{
			"id": p.id, "object": "dispute", "amount": p.of.charge.captured, "currency": p.of.currency, "status": p.status, "reason": p.reason,
			"created": p.created, "charge": p.of.charge.id, "payment_intent": p.of.id, "livemode": false,
			"evidence_details":       object{"due_by": p.due, "has_evidence": p.evidence > 0, "past_due": p.late, "submission_count": p.evidence},
			"payment_method_details": object{"type": "card", "card": object{"brand": "visa", "case_type": "chargeback", "network_reason_code": p.network}},
		}
		if c.expands("payment_intent") {
			o["payment_intent"] = p.of.view(d, false)
		}
		if c.expands("charge") {
			o["charge"] = p.of.chargeView(nil)
		}
		return ok(o)
	}
	return missing(c.id)
}
