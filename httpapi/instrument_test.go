package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
)

// luhn completes a card number with its check digit.
func luhn(t *testing.T, digits string) string {
	t.Helper()
	for d := range 10 {
		if number := fmt.Sprint(digits, d); domain.ValidCardNumber(number) {
			return number
		}
	}
	t.Fatalf("no check digit makes %s a card number", digits)
	return ""
}

// TestNetworks: the number determines the network, and the answer has only the digits that may be
// shown (§2.2, D12).
func TestNetworks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	for _, c := range []struct{ number, cvv, network, firstDigits string }{
		{"4111111111111111", "123", "VISA", "41111111"},
		{"4242424242424242", "123", "VISA", "42424242"},
		{"4035500000000000", "123", "VISA", "40355000"},
		{"4970000000000008", "123", "VISA", "49700000"},
		{"5252525252525258", "123", "MASTERCARD", "52525252"},
		{"5555555555554444", "123", "MASTERCARD", "55555555"},
		{"5132000000000000", "123", "MASTERCARD", "51320000"},
		{"2221000000000009", "123", "MASTERCARD", "22210000"},
		{"378282246310005", "1234", "AMEX", "378282"}, // eight digits of fifteen would be too many
		{"6011111111111117", "123", "DISCOVER", "60111111"},
		{"3530111333300000", "123", "JCB", "35301113"},
		{luhn(t, "3056930902590"), "123", "DINERS_CLUB", "305693"}, // 14 digits
		{luhn(t, "620000000000000000"), "123", "UNIONPAY", "62000000"},
		{luhn(t, "400000000000000000"), "123", "VISA", "40000000"}, // 19 digits
	} {
		body := fmt.Sprintf(`{"paymentInstrument":{"number":%q,"cvv":%q,"expirationMonth":"12","expirationYear":%q,"cardholderName":"Ada Lovelace"}}`, c.number, c.cvv, expires)
		a := r.want(r.browser(client, body), 200, "")
		for _, under := range []string{"paymentMethodData", "paymentInstrumentData"} {
			got := []string{a.text1(under, "network"), a.text1(under, "firstDigits"), a.text1(under, "last4Digits"), a.text1(under, "expirationMonth"),
				a.text1(under, "expirationYear"), a.text1(under, "cardholderName"), a.text1("tokenType"), a.text1("paymentMethodType"),
				a.text1("paymentInstrumentType"), a.text1("threeDSecureAuthentication", "responseCode")}
			want := []string{c.network, c.firstDigits, c.number[len(c.number)-4:], "12", expires, "Ada Lovelace", "SINGLE_USE", "PAYMENT_CARD", "PAYMENT_CARD", "NOT_PERFORMED"}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", c.number, got, want)
			}
		}
		if a.field("isVaulted") != false || a.field("paymentMethodData", "cvvAvailable") != true || strings.Contains(a.text, c.number) {
			t.Errorf("%s: %s", c.number, a.text)
		}
	}
}

// TestWrongCards checks that each wrong field of a card is named, without its value, and that
// nothing is stored (D12).
func TestWrongCards(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	good := map[string]string{"number": "4111111111111111", "cvv": "737", "expirationMonth": "03", "expirationYear": "2099"}
	before := r.events()
	for _, c := range []struct{ field, value, says string }{
		{"number", "4111111111111112", "is not a card number"},
		{"number", "411111111111111", "is not a card number"},
		{"number", "9111111111111111", "is not a card number"},
		{"number", "4111-1111-1111-1111", "must be 14 to 19 digits"},
		{"number", "41111111111111111111", "must be 14 to 19 digits"},
		{"number", "", "must be 14 to 19 digits"},
		{"number", "４１１１１１１１１１１１１１１１", "must be 14 to 19 digits"},
		{"cvv", "73", "must be 3 digits, 4 for American Express"},
		{"cvv", "73x", "must be 3 digits, 4 for American Express"},
		{"cvv", "7371", "must have 3 digits for this card"},
		{"expirationMonth", "13", "must be a month, 01 to 12"},
		{"expirationMonth", "00", "must be a month, 01 to 12"},
		{"expirationMonth", "3", "must be a month, 01 to 12"},
		{"expirationYear", "99", "must be a year of four digits"},
		{"expirationYear", "2020", "lies in the past with expirationMonth"},
		{"cardholderName", "4242 4242 4242 4242", "must not hold a card number: it holds 16 digits divided as on a card, with a prefix of VISA and a right check digit"},
		{"cardholderName", strings.Repeat("é", 256), "must be at most 255 characters long"},
		{"pin", "1234", "is not a known field"},
	} {
		fields := []string{fmt.Sprintf("%q:%q", c.field, c.value)}
		for name, value := range good {
			if name != c.field {
				fields = append(fields, fmt.Sprintf("%q:%q", name, value))
			}
		}
		a := r.want(r.browser(client, `{"paymentInstrument":{`+strings.Join(fields, ",")+`}}`), 422, "RequestValidationError")
		if want := []string{"PaymentInstrumentRequest $.paymentInstrument." + c.field + " " + c.says}; !slices.Equal(a.faults(), want) {
			t.Errorf("%s %q: %q, want %q", c.field, c.value, a.faults(), want)
		}
		if len(c.value) > 8 && strings.Contains(a.text, c.value) {
			t.Errorf("%s %q is answered: %s", c.field, c.value, a.text)
		}
	}
	for name := range good {
		var fields []string
		for other, value := range good {
			if other != name {
				fields = append(fields, fmt.Sprintf("%q:%q", other, value))
			}
		}
		a := r.want(r.browser(client, `{"paymentInstrument":{`+strings.Join(fields, ",")+`}}`), 422, "RequestValidationError")
		if want := []string{"PaymentInstrumentRequest $.paymentInstrument." + name + " is required"}; !slices.Equal(a.faults(), want) {
			t.Errorf("without %s: %q", name, a.faults())
		}
	}
	amex := `{"paymentInstrument":{"number":"378282246310005","cvv":"737","expirationMonth":"03","expirationYear":"2099"}}`
	if a := r.want(r.browser(client, amex), 422, "RequestValidationError"); !strings.Contains(a.text, "must have 4 digits for this card") {
		t.Errorf("Amex: %s", a.text)
	}
	if after := r.events(); after != before {
		t.Errorf("refused cards left %d events", after-before)
	}
}

// TestBinDataOfInstruments checks that the binData of a token, about which no processor has told
// anything, has the fields that strict clients need (§2.2).
func TestBinDataOfInstruments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const unknown = `"binData":{"network":"VISA","regionalRestriction":"UNKNOWN","accountNumberType":"UNKNOWN","accountFundingType":"UNKNOWN",` +
		`"prepaidReloadableIndicator":"NOT_APPLICABLE","productUsageType":"UNKNOWN","productCode":"UNKNOWN","productName":"UNKNOWN"}`
	client := r.session(someSession)
	made := r.want(r.browser(client, `{"paymentFlow":"VAULT",`+someCard[1:]), 200, "")
	at := "/payment-instruments/" + made.text1("token")
	for name, a := range map[string]answer{
		"a token": made, "the configuration": r.inBrowser(client, "GET", "/checkout/configuration", ""), "the list": r.get("/payment-instruments?customer_id=customer-7"),
		"the default": r.post(at+"/default", ""), "deleted": r.do(request{method: "DELETE", path: at}),
	} {
		if r.want(a, 200, ""); !strings.Contains(a.text, unknown) {
			t.Errorf("%s: %s", name, a.text)
		}
	}
}
