package httpapi_test

import (
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/protocol"
)

// orderedSession is a session with everything that a page of a payment shows.
const orderedSession = `{"orderId":"order-1","customerId":"customer-7","currencyCode":"EUR",` +
	`"order":{"lineItems":[{"itemId":"a-1","name":"Red kite","amount":1000,"quantity":2,"discountAmount":100,"taxAmount":20,"productData":{"sku":"KITE-9"}}],` +
	`"shipping":{"amount":490,"methodName":"Courier"},"fees":[{"type":"SURCHARGE","amount":90}]},` +
	`"customer":{"emailAddress":"zenobia@example.com","firstName":"Zenobia","lastName":"Quux","mobileNumber":"+441234567890",` +
	`"billingAddress":{"addressLine1":"1 Palmyra Road","city":"London","countryCode":"GB","postalCode":"W1A 1AA"}}}`

// TestPaymentPageDetails: the page of a payment shows what the API knows of it: articles,
// addresses, the card with its holder and issuer, and the results of the checks.
func TestPaymentPageDetails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	id := s.want(s.pay(payWith(s.cardOf(s.session(orderedSession)))), 200, "").text1("id")
	s.open("/dashboard/payments/" + id)
	s.shows(200,
		"Red kite a-1, SKU KITE-9, €1.00 discount, €0.20 tax 2 €10.00 €19.20", "Shipping Courier €4.90", "Fee SURCHARGE €0.90",
		"Name Zenobia Quux", "E-mail address zenobia@example.com", "Telephone +441234567890", "Billing address 1 Palmyra Road, W1A 1AA London, GB",
		"Card VISA •••• 1111", "Cardholder Odaenathus", "Issuer ", "Kind credit", "Product Visa Classic",
		"CVV Matched", "Street of the address Matched", "Postal code Matched", "Fraud, before the authorization Accept",
		"Next: Capture €25.00 or a part of it when the goods leave, or cancel.", "Authorization code",
	)
	s.lacks("POST /payments")
	s.open("/dashboard/payments/" + id + "?at=1")
	s.lacks("Next:")

	s.want(s.eraseCustomer("customer-7"), 200, "")
	s.open("/dashboard/payments/" + id)
	if found := showsHer(s.now.text); len(found) > 0 {
		t.Errorf("after the erasure, the page shows %v", found)
	}
	s.shows(200, "The personal data was erased ", "nobody can read it any more.", "Red kite")
}

// TestPaymentPageAdvice: a declined payment has the code and the issuer's advice, and every payment
// the next step, as `payledger payments show` prints it.
func TestPaymentPageAdvice(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	declined := s.want(s.pay(payWith(s.tokenize(s.session(someSession), "4000000000009987"))), 200, "").text1("id")
	s.open("/dashboard/payments/" + declined)
	s.shows(200, "Reason Issuer declined, hard decline, LOST_OR_STOLEN_CARD", ": lost card (code of the processor: 41)", "Advice of the issuer Stop all payments",
		"Next: Nothing was charged. Do not try this card again, and look at the customer's other payments (STOP_ALL_PAYMENTS).")
	frictionless := s.want(s.pay(payWith(s.tokenize(s.session(someSession), "4929251897047956"))), 200, "").text1("id")
	s.open("/dashboard/payments/" + frictionless)
	s.shows(200, "3-D Secure Auth success")

	at := s.paid(goodCard, "")
	s.want(s.post(at+"/capture", ""), 200, "")
	id := strings.TrimPrefix(at, "/payments/")
	s.open("/dashboard/payments/" + id)
	s.shows(200, "Next: If the customer returns something, refund up to €24.20.")
	disputed := domain.Amount(1000)
	_, err := s.sim.OpenDispute(t.Context(), protocol.DisputeOrder{Reference: domain.PaymentID(id), Type: processor.Chargeback, ReasonCode: "10.4", Amount: &disputed})
	must(t, err)
	s.disputeIs(id, "OPEN")
	s.open("/dashboard/payments/" + id)
	s.shows(200, "Next: Answer the dispute ", "Do not refund as well: if the dispute is lost, the customer gets €10.00 twice.")
}
