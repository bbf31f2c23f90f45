package double

// refund is a Refund.
type refund struct {
	id, status string
	amount     int64
	created    int64
	of         *intent
	metadata   map[string]string
	then       string // the status after Settle; "": it stays
}

func (r *refund) view(d *Double, expanded bool) object {
	o := object{
		"id": r.id, "object": "refund", "amount": r.amount, "currency": r.of.currency, "status": r.status, "created": r.created,
		"payment_intent": r.of.id, "charge": r.of.charge.id, "metadata": r.metadata,
	}
	if r.status == "failed" {
		o["failure_reason"] = "expired_or_canceled_card"
	}
	if expanded {
		o["payment_intent"] = r.of.view(d, false)
	}
	return o
}

func (d *Double) postRefund(c call) answer {
	i := d.intents[c.form.Get("payment_intent")]
	if i == nil {
		return missing(c.form.Get("payment_intent"))
	}
	amount, is := c.number("amount")
	switch left := i.received - i.refunded; {
	case i.received == 0:
		return coded("", "This PaymentIntent does not have a successful charge to refund.")
	case left == 0:
		return coded("charge_already_refunded", "The charge has already been refunded.")
	case is && (amount < 1 || amount > left):
		return coded("", "Refund amount is greater than unrefunded amount on charge.")
	case !is:
		amount = left
	}
	r := d.refund(i, amount)
	c.metadata(r.metadata)
	return ok(r.view(d, false))
}

func (d *Double) refund(i *intent, amount int64) *refund {
	r := &refund{id: d.id("re"), status: "succeeded", amount: amount, created: d.seconds(), of: i, metadata: map[string]string{}}
	if r.then = fates[i.method.number].refund; r.then == "succeeded" {
		r.status = "pending"
	}
	i.refunded += amount
	d.refunds = append(d.refunds, r)
	d.emit("refund.created", object{"id": r.id, "object": "refund"})
	return r
}

// RefundElsewhere refunds on Stripe's own pages.
func (d *Double) RefundElsewhere(id string, amount int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refund(d.intents[id], amount)
}

// Settle ends the refunds that are pending, or fail later.
func (d *Double) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.refunds {
		if r.then == "" {
			continue
		}
		kind := "refund.updated"
		if r.status, r.then = r.then, ""; r.status == "failed" {
			r.of.refunded -= r.amount
			kind = "refund.failed"
		}
		d.emit(kind, object{"id": r.id, "object": "refund"})
	}
}

func (d *Double) getRefund(c call) answer {
	for _, r := range d.refunds {
		if r.id == c.id {
			return ok(r.view(d, false))
		}
	}
	return missing(c.id)
}

func (d *Double) getRefunds(c call) answer {
	var list []row
	for _, r := range d.refunds {
		if of := c.form.Get("payment_intent"); of == "" || of == r.of.id {
			list = append(list, row{r.id, r.created, func() object { return r.view(d, c.expands("data.payment_intent")) }})
		}
	}
	return c.page("/v1/refunds", list)
}

// move is a balance transaction of a charge.
type move struct {
	id, currency string
	amount       int64
	rate         float64 // 0: none
	created      int64
	of           *intent
	hidden       bool // it is not shown yet
}

// HideMove hides the newest balance transaction, or shows all: Stripe may make them later than
// their captures.
func (d *Double) HideMove(hidden bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, m := range d.moves {
		m.hidden = hidden && i == len(d.moves)-1
	}
}

func (d *Double) getMoves(c call) answer {
	if c.form.Get("type") != "charge" {
		return invalid("The double has balance transactions of charges only.")
	}
	var list []row
	for _, m := range d.moves {
		if of := c.form.Get("source"); m.hidden || of != "" && of != m.of.charge.id {
			continue
		}
		list = append(list, row{m.id, m.created, func() object {
			o := object{"id": m.id, "object": "balance_transaction", "amount": m.amount, "currency": m.currency, "created": m.created, "type": "charge", "source": m.of.charge.id, "exchange_rate": nil}
			if m.rate != 0 {
				o["exchange_rate"] = m.rate
			}
			if c.expands("data.source") {
				var of any
				if c.expands("data.source.payment_intent") {
					of = m.of.view(d, false)
				}
				o["source"] = m.of.chargeView(of)
			}
			return o
		}})
	}
	return c.page("/v1/balance_transactions", list)
}
