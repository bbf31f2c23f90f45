package httpapi_test

import (
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestRuleThatRefuses: a rule whose processors are all disabled refuses payments. The form that
// disables the last one says so before, the list of rules, Home and the error say so after; the
// customer's browser reads neither the rule nor its processors.
func TestRuleThatRefuses(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, _ := newHookSite(t)
	s.want(s.manage("PUT", "/routing", `{"rules":[{"name":"none","when":{"currencyCode":["JPY"]},"processors":["STRIPE","ADYEN"]},{"name":"large","when":{"minAmount":1000},"processors":["STRIPE"]}],"default":["STRIPE"]}`), 200, "")
	s.open("/dashboard/routing/rules/2")
	s.shows(200, "With one processor there is no fallback", "for “above 1,000” write at least 1000.01")
	s.open("/dashboard/processors/ADYEN")
	s.shows(200)
	s.lacks("If you disable", "It is the only processor")
	s.open("/dashboard/processors/STRIPE")
	s.shows(200, "If you disable STRIPE, payments are refused:", "Rule 2, large : every payment that it matches", "The default list: every payment that no rule matches")
	s.lacks("Rule 1")
	s.open("/dashboard/processors")
	s.lacks("Refuses payments", "Payments are refused")
	client := s.session(someSession)
	first, second := s.tokenize(client, goodCard), s.tokenize(client, goodCard)
	payer := s.session(someSession)
	used, unused := s.tokenize(payer, goodCard), s.tokenize(payer, goodCard)
	paid := s.want(s.inBrowser(payer, "POST", "/checkout/payments", payWith(used)), 200, "").text1("id")
	broke := s.session(someSession)
	declined := s.tokenize(broke, declinedCard)
	unpaid := s.want(s.inBrowser(broke, "POST", "/checkout/payments", payWith(declined)), 200, "").text1("id")
	twice := s.session(someSession)
	stale := s.tokenize(twice, declinedCard)
	s.want(s.inBrowser(twice, "POST", "/checkout/payments", payWith(stale)), 200, "")
	alive := s.want(s.inBrowser(twice, "POST", "/checkout/payments", payWith(s.tokenize(twice, goodCard))), 200, "").text1("id")
	s.open("/dashboard/processors/STRIPE")
	s.submit("/dashboard/processors/STRIPE", "mark", s.value("mark"), "processorMerchantId", s.value("processorMerchantId"))
	s.shows(200, "The change is saved.", "Payments are refused. Rule 2, large : none of its processors takes payments", "The default list : none of its processors takes payments",
		"STRIPE Refuses payments None of these processors takes payments")
	if n := strings.Count(s.now.text, ">Refuses payments<"); n != 2 {
		t.Errorf("%d lists are marked, not the rule and the default", n)
	}
	s.open("/dashboard")
	s.shows(200, "Payments are refused Rule 2, large refuses every payment that it matches: none of its processors takes payments (STRIPE).", "The default list refuses every payment that no rule matches")
	refused := s.want(s.pay(payWith(first)), 400, "PaymentError")
	s.says(refused, []string{"routing rule 2, “large”, decides about it, and none of the rule's processors is enabled (STRIPE).", "Enable one of them: PATCH /management/processors/{name}.", "add an enabled processor to the rule: PUT /management/routing"}, nil)
	seen := s.want(s.inBrowser(client, "POST", "/checkout/payments", payWith(second)), 400, "PaymentError")
	s.says(seen, []string{"No processor takes the payment now."}, []string{"large", "STRIPE", "/management"})
	for _, token := range []string{used, unused} { // the answer about the payment may have been lost
		again := s.want(s.inBrowser(payer, "POST", "/checkout/payments", payWith(token)), 400, "PaymentError")
		if again.text1("error", "paymentId") != paid || again.text1("error", "paymentStatus") != "AUTHORIZED" {
			t.Errorf("after the payment: %s", again.text)
		}
		s.says(again, nil, []string{"large", "STRIPE", "/management"})
	}
	again := s.want(s.inBrowser(broke, "POST", "/checkout/payments", payWith(declined)), 400, "PaymentError")
	if again.text1("error", "paymentId") != unpaid || again.text1("error", "paymentStatus") != "DECLINED" {
		t.Errorf("after a declined payment: %s", again.text)
	}
	s.says(again, nil, []string{"large", "STRIPE", "/management", "PATCH"})
	again = s.want(s.inBrowser(twice, "POST", "/checkout/payments", payWith(stale)), 400, "PaymentError")
	if again.text1("error", "paymentId") != alive || again.text1("error", "paymentStatus") != "AUTHORIZED" {
		t.Errorf("a declined token after a payment with another one: %s", again.text)
	}
	for _, name := range []string{"ADYEN", "PAYPAL", "BRAINTREE", "CHECKOUT", "WORLDPAY"} {
		s.manage("PATCH", "/processors/"+name, `{"enabled":false}`)
	}
	s.open("/dashboard")
	s.shows(200, "Every new payment is refused: no processor takes payments.")
	s.lacks("Rule 2")
	s.manage("PATCH", "/processors/ADYEN", `{"enabled":true}`)
	s.open("/dashboard/processors/ADYEN")
	s.shows(200, "It is the only processor that takes payments.")
}

// TestFailingProcessorOnItsPage: the page of processors has Home's sentence about those that fail
// today, with the reason.
func TestFailingProcessorOnItsPage(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, _ := newHookSite(t)
	s.open("/dashboard/processors")
	s.lacks("fails today")
	for range 5 {
		s.want(s.pay(payWith(s.tokenize(s.session(someSession), "4000000000005266"))), 200, "")
	}
	for _, page := range []string{"/dashboard", "/dashboard/processors"} {
		s.open(page)
		s.shows(200, "ADYEN fails today: 5 of 5 tries failed.")
	}
}
