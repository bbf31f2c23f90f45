package httpapi_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/eventstoretest"
)

// zenobia is the personal data of these tests; each value is in her session, and the cardholder's
// name on her cards.
var zenobia = []string{"zenobia@example.com", "Zenobia", "Quux", "+441234567890", "Palmyra Road", "Odaenathus"}

const zenobiaAs = `"customer":{"emailAddress":"zenobia@example.com","firstName":"Zenobia","lastName":"Quux","mobileNumber":"+441234567890",` +
	`"billingAddress":{"addressLine1":"1 Palmyra Road","city":"London","countryCode":"GB","postalCode":"W1A 1AA"}}`

// zenobiaSession is a session of hers; customer is its customerId, or empty.
func zenobiaSession(customer string) string {
	body := `{"orderId":"order-1","currencyCode":"EUR","amount":1000,`
	if customer != "" {
		body += `"customerId":"` + customer + `",`
	}
	return body + zenobiaAs + `}`
}

// cardOf enters her card in a session.
func (r *rig) cardOf(clientToken string) string {
	r.t.Helper()
	body := `{"paymentInstrument":{"number":"` + goodCard + `","cvv":"737","expirationMonth":"03","expirationYear":"` + expires + `","cardholderName":"Odaenathus"}}`
	return r.want(r.browser(clientToken, body), 200, "").text1("token")
}

func (r *rig) eraseCustomer(id string) answer {
	r.t.Helper()
	return r.manage("POST", "/customers/"+url.PathEscape(id)+"/erase", "")
}

func (r *rig) eraseGuest(id string) answer {
	r.t.Helper()
	return r.manage("POST", "/payments/"+id+"/erase", "")
}

// showsHer reports which of her values a text has.
func showsHer(text string) (found []string) {
	for _, value := range zenobia {
		if strings.Contains(text, value) {
			found = append(found, value)
		}
	}
	return found
}

// readAll reads everything that shows a payment.
func (r *rig) readAll(id, clientToken string) string {
	r.t.Helper()
	text := ""
	for _, path := range []string{
		"/payments/" + id + "?expand=transactions.events", "/payments/" + id + "/events", "/payments", "/payments?customer_id=zen%2Fobia",
		"/client-session?clientToken=" + clientToken, "/payment-instruments?customer_id=zen%2Fobia", "/payments/" + id + "/events?at=1",
	} {
		text += r.want(r.get(path), 200, "").text
	}
	browser := map[string]string{"X-Api-Key": "", "X-Api-Version": "", "X-Client-Token": clientToken}
	return text + r.want(r.do(request{method: "GET", path: "/checkout/configuration", header: browser}), 200, "").text
}

// TestEraseCustomer checks that after the erasure's answer no answer, list or webhook contains the
// customer's personal data, also if read, resent or replayed. The saved cards are deleted, captures
// and refunds continue, and a returning customer is a new one (D11, D20).
func TestEraseCustomer(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.takes("/")
	const customer = "zen/obia"
	session := r.session(zenobiaSession(customer))
	paid := r.want(r.pay(payWith(r.cardOf(session))), 200, "").text1("id")
	saved := r.want(r.vault(r.cardOf(session), `{"customerId":"zen/obia"}`), 200, "").text1("token")
	guest := r.session(zenobiaSession("")) // its payment names the customer
	named := r.want(r.pay(`{"paymentMethodToken":"`+r.cardOf(guest)+`","customerId":"zen/obia"}`), 200, "").text1("id")
	open := r.session(zenobiaSession(""))
	r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + open + `","customerId":"zen/obia"}`}), 200, "")
	other := r.sold(goodCard, someSession)
	r.settled("outcome=SUCCEEDED", 3)
	for what, text := range map[string]string{
		"the session": r.get("/client-session?clientToken=" + session).text, "the payment": r.get("/payments/" + paid).text,
		"the other payment": r.get("/payments/" + named).text, "the webhooks": r.inbox.at("/")[0].body,
	} {
		if found := showsHer(text); len(found) < 5 {
			t.Errorf("%s shows %v only", what, found)
		}
	}
	if found, _ := r.listed("customer_email_address=zenobia@example.com"); len(found) != 2 {
		t.Errorf("her address finds %v", found)
	}

	began := r.now().Truncate(time.Microsecond)
	erased := r.want(r.eraseCustomer(customer), 200, "")
	if at := erased.date(t, "erasedAt"); erased.text1("customerId") != customer || at.Before(began) || at.After(r.now()) {
		t.Errorf("answered %s", erased.text)
	}
	events, webhooks := r.events(), len(r.inbox.at("/"))
	if again := r.want(r.eraseCustomer(customer), 200, ""); again.text != erased.text || r.events() != events {
		t.Errorf("a repeat answers %s with %d events", again.text, r.events()-events)
	}
	for id, token := range map[string]string{paid: session, named: guest, other: open} {
		if found := showsHer(r.readAll(id, token)); len(found) > 0 {
			t.Errorf("%v are shown after the erasure", found)
		}
	}
	if found, _ := r.listed("customer_email_address=zenobia@example.com"); len(found) != 0 {
		t.Errorf("her address finds %v", found)
	}
	if found, _ := r.listed("customer_email_address=ada@example.com"); !slices.Equal(found, []string{other}) {
		t.Errorf("another address finds %v", found)
	}
	if kept := r.keptFor("zen%2Fobia"); len(kept) != 0 {
		t.Errorf("saved cards: %v", kept)
	}
	r.want(r.pay(`{"paymentMethodToken":"`+saved+`","amount":700,"currencyCode":"EUR","customerId":"zen/obia","orderId":"order-9"}`), 400, "PaymentError")
	for _, id := range []string{paid, named} {
		r.want(r.post("/payments/"+id+"/capture", ""), 200, "")
		if a := r.want(r.post("/payments/"+id+"/refund", ""), 200, ""); a.field("processor", "amountRefunded") != 1000.0 {
			t.Errorf("refunded: %s", a.text)
		}
	}
	r.finished(r.replays(replayOf(endpoint, ""), 7), 7)
	r.want(r.resend(r.settled("outcome=SUCCEEDED&paymentId="+paid, 3)[0]["id"].(string)), 200, "")
	for _, h := range r.inbox.at("/")[webhooks:] {
		if found := showsHer(h.body); len(found) > 0 {
			t.Errorf("a webhook after the erasure has %v: %s", found, h.body)
		}
	}
	if _, log := r.deliveries("limit=100"); len(showsHer(log.text)) > 0 {
		t.Errorf("the log of webhooks: %s", log.text)
	}

	back := r.session(zenobiaSession(customer))
	anew := r.want(r.pay(payWith(r.cardOf(back))), 200, "").text1("id")
	if found := showsHer(r.get("/payments/" + anew).text); len(found) < 5 {
		t.Errorf("after she came back her payment shows %v", found)
	}
	if found, _ := r.listed("customer_email_address=zenobia@example.com"); !slices.Equal(found, []string{anew}) {
		t.Errorf("after she came back her address finds %v", found)
	}
	if found := showsHer(r.get("/payments/" + paid).text); len(found) > 0 {
		t.Errorf("after she came back her old payment shows %v", found)
	}
	if again := r.want(r.eraseCustomer(customer), 200, ""); !again.date(t, "erasedAt").After(erased.date(t, "erasedAt")) {
		t.Errorf("erased again: %s", again.text)
	}
	if found := showsHer(r.readAll(anew, back)); len(found) > 0 {
		t.Errorf("%v are shown after the second erasure", found)
	}
	if found := showsHer(r.get("/payments/"+other).text + r.log.String()); len(found) > 0 {
		t.Errorf("the log has %v", found)
	}
}

// TestEraseGuest checks that any payment of the checkout erases its guest. The call refuses a
// payment of a customer, and does not find an unknown payment (D20).
func TestEraseGuest(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	session := r.session(zenobiaSession(""))
	paid := r.want(r.pay(payWith(r.cardOf(session))), 200, "").text1("id")
	twice := r.want(r.pay(payWith(r.cardOf(session))), 200, "").text1("id")
	elsewhere := r.want(r.pay(payWith(r.cardOf(r.session(zenobiaSession(""))))), 200, "").text1("id")
	ofCustomer := r.sold(goodCard, someSession)
	r.want(r.eraseGuest(ofCustomer), 400, "PaymentError")
	r.want(r.eraseGuest("01k3v9t7hq2m5c8z0x4w6n1r3b"), 404, "EntityNotFound")
	r.want(r.eraseCustomer("nobody"), 404, "EntityNotFound")
	r.want(r.eraseCustomer("no\nbody"), 404, "EntityNotFound") // ledgers of earlier versions have such ids
	foreign := map[string]string{"X-Api-Key": r.otherMerchant()}
	for _, path := range []string{"/payments/" + paid, "/customers/customer-7"} {
		r.want(r.do(request{method: "POST", path: "/management" + path + "/erase", header: foreign}), 404, "EntityNotFound")
	}
	if found := showsHer(r.get("/payments/" + paid).text); len(found) < 5 {
		t.Errorf("before the erasure: %v", found)
	}
	erased := r.want(r.eraseGuest(paid), 200, "")
	if erased.text1("paymentId") != paid || r.want(r.eraseGuest(paid), 200, "").text != erased.text {
		t.Errorf("answered %s", erased.text)
	}
	for _, id := range []string{paid, twice} {
		if found := showsHer(r.readAll(id, session)); len(found) > 0 {
			t.Errorf("payment %s: %v are shown after the erasure", id, found)
		}
	}
	if found, _ := r.listed("customer_email_address=zenobia@example.com"); !slices.Equal(found, []string{elsewhere}) {
		t.Errorf("her address finds %v, want the other checkout's %s", found, elsewhere)
	}
	if text := r.get("/payments/" + ofCustomer).text; !strings.Contains(text, "ada@example.com") {
		t.Errorf("a customer's payment: %s", text)
	}
	if found := showsHer(r.get("/payments/" + elsewhere).text); len(found) < 5 {
		t.Errorf("the other checkout's payment shows %v", found)
	}
}
