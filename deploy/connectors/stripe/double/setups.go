package double

import (
	"maps"
	"net/http"
)

// setup is a SetupIntent.
type setup struct {
	id, status, returnURL string
	created               int64
	metadata              map[string]string
	failure               object
	customer              string
	method                *method
	tried                 *method // of the newest attempt
	threeDS               object
}

func (s *setup) view(d *Double, expanded bool) object {
	o := object{
		"id": s.id, "object": "setup_intent", "status": s.status, "livemode": false, "created": s.created, "metadata": s.metadata, "last_setup_error": s.failure,
		"latest_attempt": nil,
	}
	if s.customer != "" {
		o["customer"] = s.customer
	}
	if s.method != nil {
		o["payment_method"] = s.method.id
	}
	if s.status == "requires_action" {
		o["next_action"] = object{"type": "redirect_to_url", "redirect_to_url": object{"url": d.Base + "/customer/" + s.id, "return_url": s.returnURL}}
	}
	if s.tried != nil {
		if o["latest_attempt"] = "setatt_" + s.id; expanded {
			o["latest_attempt"] = s.attempt()
		}
	}
	return o
}

func (s *setup) attempt() object {
	checks := object{"cvc_check": "pass"}
	if s.tried.cvc == "" {
		checks["cvc_check"] = nil
	}
	card := object{"brand": brand(s.tried.number), "country": "US", "funding": "credit", "checks": checks, "three_d_secure": s.threeDS}
	return object{"id": "setatt_" + s.id, "object": "setup_attempt", "livemode": false, "payment_method_details": object{"type": "card", "card": card}}
}

func (d *Double) postSetup(c call) answer {
	s := &setup{id: d.id("seti"), status: "requires_payment_method", created: d.seconds(), metadata: map[string]string{}, returnURL: c.form.Get("return_url")}
	m := d.methods[c.form.Get("payment_method")]
	if c.form.Get("confirm") == "true" {
		if refused := d.mayPay(c); refused != nil {
			return *refused
		}
	}
	c.metadata(s.metadata)
	d.setups = append(d.setups, s)
	if m == nil {
		return ok(s.view(d, false))
	}
	s.tried, s.customer = m, c.form.Get("customer")
	switch fate := fates[m.number]; {
	case fate.challenge:
		s.status = "requires_action"
		d.emit("setup_intent.requires_action", s.view(d, false))
	case fate.decline != "":
		s.failure = object{"type": "card_error", "code": fate.code, "decline_code": fate.decline, "message": "Your card was declined.", "network_decline_code": fate.network}
		e := maps.Clone(s.failure)
		e["setup_intent"] = s.view(d, false)
		d.emit("setup_intent.setup_failed", s.view(d, false))
		return answer{status: http.StatusPaymentRequired, body: object{"error": e}}
	default:
		d.setUp(s)
	}
	return ok(s.view(d, c.expands("latest_attempt")))
}

// setUp ends a SetupIntent with success.
func (d *Double) setUp(s *setup) {
	s.status, s.method = "succeeded", s.tried
	if s.customer != "" {
		s.method.customer = s.customer
	} else if s.method.customer == "" {
		s.method.used = true // it was set up for nobody
	}
	d.emit("setup_intent.succeeded", s.view(d, false))
}

// act is Act for SetupIntents. The caller holds the lock.
func (d *Double) act(id string, passes bool) {
	for _, s := range d.setups {
		switch {
		case s.status != "requires_action" || id != "" && s.id != id:
		case passes:
			s.threeDS = object{"result": "authenticated", "version": "2.2.0"}
			d.setUp(s)
		default:
			s.status = "requires_payment_method"
			s.failure = object{"type": "invalid_request_error", "code": "setup_intent_authentication_failure", "message": "The customer did not authenticate."}
			d.emit("setup_intent.setup_failed", s.view(d, false))
		}
	}
}

func (d *Double) setupOf(id string) *setup {
	for _, s := range d.setups {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (d *Double) getSetup(c call) answer {
	if s := d.setupOf(c.id); s != nil {
		return ok(s.view(d, c.expands("latest_attempt")))
	}
	return missing(c.id)
}

func (d *Double) getSetups(c call) answer {
	var list []row
	for _, s := range d.setups {
		list = append(list, row{s.id, s.created, func() object { return s.view(d, c.expands("data.latest_attempt")) }})
	}
	return c.page("/v1/setup_intents", list)
}

func (d *Double) postSetupCancel(c call) answer {
	s := d.setupOf(c.id)
	switch {
	case s == nil:
		return missing(c.id)
	case s.status == "succeeded" || s.status == "canceled" || s.status == "processing":
		return coded("setup_intent_unexpected_state", "You cannot cancel this SetupIntent because it has a status of "+s.status+".")
	}
	s.status = "canceled"
	d.emit("setup_intent.canceled", s.view(d, false))
	return ok(s.view(d, false))
}
