package double

import "slices"

func brand(number string) string {
	switch {
	case number == "":
		return "unknown"
	case number[0] == '5':
		return "mastercard"
	case number[0] == '3':
		return "amex"
	}
	return "visa"
}

// view is an intent as the API shows it.
func (i *intent) view(d *Double, expanded bool) object {
	o := object{
		"id": i.id, "object": "payment_intent", "livemode": false, "amount": i.amount, "amount_capturable": i.capturable, "amount_received": i.received,
		"currency": i.currency, "status": i.status, "created": i.created, "metadata": i.metadata, "capture_method": "manual",
		"client_secret": i.id + "_secret_double", "payment_method": i.method.id, "latest_charge": nil, "last_payment_error": i.failure, "next_action": nil, "cancellation_reason": nil, "canceled_at": nil,
	}
	if i.customer != "" {
		o["customer"] = i.customer
	}
	if i.future != "" {
		o["setup_future_usage"] = i.future
	}
	if i.reason != "" {
		o["cancellation_reason"] = i.reason
	}
	if i.canceled != 0 {
		o["canceled_at"] = i.canceled
	}
	if i.status == "requires_action" {
		o["next_action"] = object{"type": "redirect_to_url", "redirect_to_url": object{"url": d.Base + "/customer/" + i.id, "return_url": i.returnURL}}
	}
	if i.charge != nil {
		o["latest_charge"] = i.charge.id
		if expanded {
			o["latest_charge"] = i.chargeView(nil)
		}
	}
	return o
}

func (i *intent) chargeView(of any) object {
	if of == nil {
		of = i.id
	}
	card := object{
		"brand": brand(i.method.number), "country": "US", "funding": "credit", "checks": i.charge.checks, "three_d_secure": i.charge.threeDS,
		"network_transaction_id": "ntx_" + i.id, "authorization_code": "123456",
		"multicapture":  object{"status": map[bool]string{true: "available", false: "unavailable"}[i.multicapture]},
		"network_token": object{"used": fates[i.method.number].networkToken},
	}
	return object{
		"id": i.charge.id, "object": "charge", "livemode": false, "amount": i.amount, "amount_captured": i.charge.captured, "amount_refunded": i.refunded,
		"currency": i.currency, "created": i.charge.created, "status": i.charge.status, "captured": i.charge.captured > 0, "paid": i.charge.status == "succeeded",
		"outcome": i.charge.outcome, "payment_intent": of, "payment_method_details": object{"type": "card", "card": card},
	}
}

// row is an element of a list.
type row struct {
	id      string
	created int64
	view    func() object
}

// page answers a list, newest first.
func (c call) page(url string, rows []row) answer {
	limit, is := c.number("limit")
	if !is || limit < 1 || limit > 100 {
		limit = 10
	}
	from, hasFrom := c.number("created[gte]")
	to, hasTo := c.number("created[lte]")
	after := c.form.Get("starting_after")
	data, more, passed := []object{}, false, after == ""
	for _, r := range slices.Backward(rows) {
		if !passed {
			passed = r.id == after
			continue
		}
		if hasFrom && r.created < from || hasTo && r.created > to {
			continue
		}
		if int64(len(data)) == limit {
			more = true
			break
		}
		data = append(data, r.view())
	}
	return ok(object{"object": "list", "url": url, "has_more": more, "data": data})
}
