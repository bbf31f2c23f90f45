package double

import (
	"maps"
	"net/http"
)

// setup is a SetupIntent.
type setup struct {
	id, status string
	created    int64
	metadata   map[string]string
	failure    object
	customer   string
	method     *method
}

func (s *setup) view() object {
	o := object{
		"id": s.id, "object": "setup_intent", "status": s.status, "livemode": false, "created": s.created, "metadata": s.metadata, "last_setup_error": s.failure,
	}
	if s.customer != "" {
		o["customer"] = s.customer
	}
	if s.method != nil {
		o["payment_method"] = s.method.id
	}
	return o
}

func (d *Double) postSetup(c call) answer {
	s := &setup{id: d.id("seti"), status: "requires_payment_method", created: d.seconds(), metadata: map[string]string{}}
	m := d.methods[c.form.Get("payment_method")]
	if c.form.Get("confirm") == "true" {
		if refused := d.mayPay(c); refused != nil {
			return *refused
		}
	}
	c.metadata(s.metadata)
	d.setups = append(d.setups, s)
	if m == nil {
		return ok(s.view())
	}
	switch fate := fates[m.number]; {
	case fate.challenge:
		s.status = "requires_action"
	case fate.decline != "":
		s.failure = object{"type": "card_error", "code": fate.code, "decline_code": fate.decline, "message": "Your card was declined.", "network_decline_code": fate.network}
		e := maps.Clone(s.failure)
		e["setup_intent"] = s.view()
		return answer{status: http.StatusPaymentRequired, body: object{"error": e}}
	default:
		s.status, s.customer, s.method = "succeeded", c.form.Get("customer"), m
		if s.customer != "" {
			m.customer = s.customer
		} else if m.customer == "" {
			m.used = true // it was set up for nobody
		}
	}
	return ok(s.view())
}

func (d *Double) getSetups(c call) answer {
	var list []row
	for _, s := range d.setups {
		list = append(list, row{s.id, s.created, s.view})
	}
	return c.page("/v1/setup_intents", list)
}

func (d *Double) postSetupCancel(c call) answer {
	for _, s := range d.setups {
		if s.id == c.id {
			s.status = "canceled"
			return ok(s.view())
		}
	}
	return missing(c.id)
}
