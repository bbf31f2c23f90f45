package double

import (
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// method is a PaymentMethod.
type method struct {
	id, number, cvc string
	customer        string // attached to this Customer; "": to none
	used            bool   // it paid without a Customer, and pays no more
}

// intent is a PaymentIntent and its charge.
type intent struct {
	id, currency, status, reason, returnURL string
	amount, capturable, received            int64
	created, canceled                       int64
	metadata                                map[string]string
	method                                  *method
	multicapture, increments                bool
	failure                                 object // last_payment_error
	charge                                  *charge
	refunded                                int64
	customer, future                        string // Customer and setup_future_usage
}

// charge is the charge of an intent that was tried.
type charge struct {
	id, status      string
	created         int64
	captured        int64
	outcome, checks object
	threeDS         object
	disputed        bool
}

var smallest = map[string]int64{"jpy": 50, "krw": 100}

func (d *Double) postMethod(c call) answer {
	number := c.form.Get("card[number]")
	if c.form.Get("type") != "card" || number == "" {
		return invalid("A card is missing.")
	}
	if !luhn(number) {
		return problem(http.StatusPaymentRequired, "card_error", "incorrect_number", "Your card number is incorrect.").having("param", "number")
	}
	m := &method{id: d.id("pm"), number: number, cvc: c.form.Get("card[cvc]")}
	d.methods[m.id] = m
	return ok(object{"id": m.id, "object": "payment_method", "type": "card", "livemode": false})
}

func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		n := int(number[len(number)-1-i] - '0')
		if n < 0 || n > 9 {
			return false
		}
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

func (d *Double) postIntent(c call) answer {
	amount, is := c.number("amount")
	currency := c.form.Get("currency")
	least := int64(50)
	if n := smallest[currency]; n != 0 {
		least = n
	}
	switch {
	case !is || len(currency) != 3 || currency != strings.ToLower(currency):
		return invalid("The amount or the currency is missing.")
	case amount < least:
		a := coded("amount_too_small", "Amount must be at least the minimum.")
		a.unsaved = true
		return a
	case amount > 99999999:
		a := coded("amount_too_large", "Amount must be no more than 999,999.99.")
		a.unsaved = true
		return a
	case slices.Contains([]string{"bhd", "jod", "kwd", "omr", "tnd"}, currency) && amount%10 != 0:
		return invalid("The last digit of an amount with three decimals must be 0.")
	case c.form.Get("capture_method") != "manual" || c.form.Get("confirm") != "true":
		return invalid("The double confirms at once, and captures by hand.")
	}
	if refused := d.mayPay(c); refused != nil {
		return *refused
	}
	i := &intent{
		id: d.id("pi"), currency: currency, amount: amount, created: d.seconds(), metadata: map[string]string{}, method: d.methods[c.form.Get("payment_method")],
		returnURL: c.form.Get("return_url"), customer: c.form.Get("customer"), future: c.form.Get("setup_future_usage"),
		multicapture: !d.NoMulticapture && c.form.Get("payment_method_options[card][request_multicapture]") == "if_available",
		increments:   c.form.Get("payment_method_options[card][request_incremental_authorization]") == "if_available",
	}
	c.metadata(i.metadata)
	d.intents[i.id] = i
	d.order = append(d.order, i)
	d.emit("payment_intent.created", i.view(d, false))
	return d.confirm(c, i)
}

// confirm tries the card.
func (d *Double) confirm(c call, i *intent) answer {
	fate := fates[i.method.number]
	if fate.challenge {
		i.status = "requires_action"
		d.emit("payment_intent.requires_action", i.view(d, false))
		return ok(i.view(d, c.expands("latest_charge")))
	}
	d.charge(i, fate)
	if i.failure != nil {
		e := maps.Clone(i.failure)
		e["payment_intent"], e["charge"] = i.view(d, false), i.charge.id
		return answer{status: http.StatusPaymentRequired, body: object{"error": e}}
	}
	return ok(i.view(d, c.expands("latest_charge")))
}

// charge asks the issuer.
func (d *Double) charge(i *intent, fate fate) {
	i.charge = &charge{id: d.id("ch"), created: d.seconds(), status: "succeeded", checks: object{"cvc_check": "pass"}}
	if i.method.cvc == "" {
		i.charge.checks["cvc_check"] = nil
	}
	if fate.challenge {
		i.charge.threeDS = object{"result": "authenticated", "version": "2.2.0"}
	}
	if fate.decline == "" {
		i.charge.outcome = object{"type": "authorized", "risk_level": "normal", "network_status": "approved_by_network"}
		i.status, i.capturable = "requires_capture", i.amount
		i.attach()
		d.emit("payment_intent.amount_capturable_updated", i.view(d, false))
		return
	}
	i.status, i.charge.status = "requires_payment_method", "failed"
	i.charge.outcome = object{"type": "issuer_declined", "risk_level": "normal", "network_status": "declined_by_network", "network_decline_code": fate.network}
	if fate.blocked {
		i.charge.outcome = object{"type": "blocked", "risk_level": "highest", "network_status": "not_sent_to_network"}
	}
	i.failure = object{
		"type": "card_error", "code": fate.code, "decline_code": fate.decline, "message": "Your card was declined.", "network_decline_code": fate.network,
	}
	d.emit("payment_intent.payment_failed", i.view(d, false))
}

// Act lets the customer of a PaymentIntent or SetupIntent pass or fail the check. With id "", it
// does so for each that waits for its customer.
func (d *Double) Act(id string, passes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.act(id, passes)
	for _, i := range d.order {
		if i.status != "requires_action" || id != "" && i.id != id {
			continue
		}
		if passes {
			d.charge(i, fate{challenge: true})
			continue
		}
		i.status = "requires_payment_method"
		i.failure = object{
			"type": "invalid_request_error", "code": "payment_intent_authentication_failure", "message": "The customer did not authenticate.",
		}
		d.emit("payment_intent.payment_failed", i.view(d, false))
	}
}

// ReturnURL is where the customer of a PaymentIntent or SetupIntent goes after the check.
func (d *Double) ReturnURL(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.intents[id]; i != nil {
		return i.returnURL
	}
	if s := d.setupOf(id); s != nil {
		return s.returnURL
	}
	return ""
}

// getCustomer is the page of a check: a visit passes it, with ?fail=1 it fails. It sends the
// customer back to the shop.
func (d *Double) getCustomer(w http.ResponseWriter, r *http.Request) {
	d.Act(r.PathValue("id"), r.URL.Query().Get("fail") == "")
	back, err := url.Parse(d.ReturnURL(r.PathValue("id")))
	if err != nil || back.Scheme != "http" && back.Scheme != "https" {
		_, _ = io.WriteString(w, "The check has ended. You can close this page.\n")
		return
	}
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

func (d *Double) getIntent(c call) answer {
	i := d.intents[c.id]
	if i == nil {
		return missing(c.id)
	}
	return ok(i.view(d, c.expands("latest_charge")))
}

func (d *Double) getIntents(c call) answer {
	list := make([]row, 0, len(d.order))
	for _, i := range d.order {
		list = append(list, row{i.id, i.created, func() object { return i.view(d, c.expands("data.latest_charge")) }})
	}
	return c.page("/v1/payment_intents", list)
}

// state is the refusal of an operation that the status does not allow.
func (i *intent) state(d *Double) answer {
	return coded("payment_intent_unexpected_state", "This PaymentIntent has a status of "+i.status+".").having("payment_intent", i.view(d, false))
}

func (d *Double) postCapture(c call) answer {
	i := d.intents[c.id]
	if i == nil {
		return missing(c.id)
	}
	if i.status != "requires_capture" {
		return i.state(d)
	}
	amount, is := c.number("amount_to_capture")
	if !is {
		amount = i.capturable
	}
	if amount > i.capturable {
		return coded("amount_too_large", "The amount to capture is greater than the amount that can be captured.")
	}
	if c.form.Get("final_capture") == "false" && !i.multicapture {
		return invalid("Multicapture is not available for this PaymentIntent.")
	}
	d.capture(i, amount, c.form.Get("final_capture") != "false")
	c.metadata(i.metadata)
	return ok(i.view(d, c.expands("latest_charge")))
}

// capture takes an amount of an intent.
func (d *Double) capture(i *intent, amount int64, final bool) {
	i.received += amount
	i.charge.captured += amount
	if i.capturable -= amount; final || i.capturable == 0 {
		i.status, i.capturable = "succeeded", 0
	}
	m := &move{id: d.id("txn"), amount: amount, currency: i.currency, created: d.seconds(), of: i}
	if d.PaidOut.Rate != 0 {
		m.amount, m.currency, m.rate = int64(math.Round(float64(amount)*d.PaidOut.Rate)), d.PaidOut.Currency, d.PaidOut.Rate
	}
	d.moves = append(d.moves, m)
	d.emit("charge.captured", object{"id": i.charge.id, "object": "charge"})
	if fates[i.method.number].dispute && !i.charge.disputed {
		d.dispute(i)
	}
}

// CaptureElsewhere captures on Stripe's own pages.
func (d *Double) CaptureElsewhere(id string, amount int64, final bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capture(d.intents[id], amount, final)
}

func (d *Double) postCancel(c call) answer {
	i := d.intents[c.id]
	if i == nil {
		return missing(c.id)
	}
	if i.status == "canceled" || i.status == "succeeded" || i.status == "processing" {
		return i.state(d)
	}
	d.cancel(i, c.form.Get("cancellation_reason"))
	return ok(i.view(d, c.expands("latest_charge")))
}

func (d *Double) cancel(i *intent, reason string) {
	i.status, i.reason, i.capturable, i.canceled = "canceled", reason, 0, d.seconds()
	if i.received > 0 {
		i.status = "succeeded" // with a part
	}
	d.emit("payment_intent.canceled", i.view(d, false))
}

// CancelElsewhere cancels a PaymentIntent on Stripe's own pages, or with the reason "expired" as
// Stripe does by itself.
func (d *Double) CancelElsewhere(id, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cancel(d.intents[id], reason)
}

func (d *Double) postIncrement(c call) answer {
	i := d.intents[c.id]
	if i == nil {
		return missing(c.id)
	}
	amount, _ := c.number("amount")
	switch {
	case i.status != "requires_capture":
		return i.state(d)
	case !i.increments || amount <= i.amount:
		return coded("", "This authorization cannot be incremented to this amount.")
	}
	i.capturable += amount - i.amount
	i.amount = amount
	c.metadata(i.metadata)
	return ok(i.view(d, c.expands("latest_charge")))
}
