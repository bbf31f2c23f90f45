package httpapi

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/eventstoretest"
)

// shapes are bodies that are refused, and were made to cost as much as possible for each of their
// bytes. Each fills about size bytes.
func shapes(size int) map[string]costly {
	times := func(before, piece, after string) string {
		n := max(1, (size-len(before)-len(after))/len(piece))
		return before + strings.TrimSuffix(strings.Repeat(piece, n), ",") + after
	}
	numbered := func(before, piece, after string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, piece, i)
		}
		return strings.TrimSuffix(b.String(), ",") + after
	}
	session, payment, card, workflow := "createClientSession", "createPayment", "createPaymentInstrument", "createWorkflow"
	return map[string]costly{
		"unknown fields":                {card, numbered(`{`, `"k%d":1,`, `}`)},
		"unknown null fields":           {card, numbered(`{`, `"k%d":null,`, `}`)},
		"near misses":                   {session, numbered(`{`, `"ordre_Id%d":1,`, `}`)},
		"empty elements":                {session, times(`{"order":{"lineItems":[`, `{},`, `]}}`)},
		"wrong elements":                {session, times(`{"order":{"lineItems":[`, `0,`, `]}}`)},
		"500 wrong elements":            {session, `{"order":{"lineItems":[` + strings.TrimSuffix(strings.Repeat(`{"itemId":1,"name":1,"amount":"x","quantity":-1,"taxCode":[],"y":2},`, 500), ",") + `]}}`},
		"500 elements, one wrong":       {session, `{"amount":-1,"order":{"lineItems":[` + strings.TrimSuffix(strings.Repeat(`{"amount":1},`, 500), ",") + `]}}`},
		"500 full elements, one wrong":  {session, `{"amount":-1,"order":{"lineItems":[` + strings.TrimSuffix(strings.Repeat(`{"itemId":"sku-1234567","name":"Notebook, ruled","description":"A5","amount":1000,"quantity":2,"discountAmount":1,"taxAmount":190,"taxCode":"A","productType":"PHYSICAL","productData":{"sku":"1234","brand":"Fine","color":"red"}},`, 500), ",") + `]}}`},
		"options of ones":               {payment, times(`{"paymentMethodToken":"t","paymentMethod":{"options":{"a":[`, `1,`, `]}}}`)},
		"options of objects":            {payment, times(`{"paymentMethodToken":"t","paymentMethod":{"options":[`, `{"":{}},`, `]}}`)},
		"options with null fields":      {payment, numbered(`{"paymentMethodToken":"t","amount":-1,"paymentMethod":{"options":{`, `"%d":null,`, `}}}`)},
		"8 KiB of options, card number": {payment, `{"paymentMethodToken":"t","paymentMethod":{"options":[` + strings.TrimSuffix(strings.Repeat(`{"a":1},`, 1000), ",") + `,"4111111111111111"]}}`},
		"metadata keys":                 {payment, numbered(`{"paymentMethodToken":"t","metadata":{`, `"%d":1,`, `}}`)},
		"a metadata value":              {payment, times(`{"paymentMethodToken":"t","metadata":{"k":"`, `4111 `, `"}}`)},
		"digits":                        {payment, times(`{"paymentMethodToken":"t","orderId":"`, `4111 1111 `, `"}`)},
		"escapes":                       {payment, times(`{"paymentMethodToken":"t","orderId":"`, `\u0041`, `"}`)},
		"line ends in URLs":             {session, `{"order":{"lineItems":[` + strings.TrimSuffix(strings.Repeat(`{"amount":-1,"productData":{"pageUrl":"https://a/?`+strings.Repeat("4%2534=1&", 220)+`"}},`, max(1, size/2050)), ",") + `]}}`},
		"nesting":                       {session, times(`{"x":[`, strings.Repeat("[", 29)+strings.Repeat("]", 29)+",", `]}`)},
		"numbers":                       {session, times(`{"order":{"lineItems":[`, `1e1,`, `]}}`)},
		"white space":                   {session, times(`{"amount":-1`, ` `, `}`)},
		"actions":                       {workflow, times(`{"name":"n","trigger":{"eventType":"PAYMENT.REFUND"},"condition":1,"actions":[`, `{"type":"x"},`, `]}`)},
		"scopes":                        {"createApiKey", times(`{"name":"n","scopes":[`, `"x",`, `]}`)},
		"rules":                         {"replaceRouting", times(`{"default":["ADYEN"],"rules":[`, `{},`, `]}`)},
		"currencies":                    {"replaceRouting", times(`{"default":["ADYEN"],"rules":[{"name":"a","processors":["ADYEN"],"when":{"currencyCode":[`, `"x",`, `]}}]}`)},
		"a repeated key at the end":     {session, times(`{"x":[`, `0,`, `],"a":1,"a":1}`)},
		"no JSON at the end":            {session, times(`{"order":{"lineItems":[`, `{},`, `]`)},
	}
}

type costly struct{ operation, body string }

// refuse answers a body as the service does, and returns the answer.
func (a *API) refuse(t testing.TB, b costly) []byte {
	t.Helper()
	c := a.postCall(b.operation, b.body)
	err := c.accept()
	if err == nil {
		t.Fatal("it is accepted")
	}
	c.failed(err)
	return c.w.(*httptest.ResponseRecorder).Body.Bytes()
}

// The bounds of a refusal (D22.14): of its answer, and of the memory that it takes for each byte of
// the body, the body included; beside that, the condition of a workflow is compiled.
const mostAnswer, mostMemory, smallMemory = 64_000, 5, 512 << 10

// TestCostOfRefusals: a refusal takes memory in proportion to the bytes of the body, and its answer
// is short, whatever the body's shape.
func TestCostOfRefusals(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	a := testAPI(t)
	for name, b := range shapes(256 << 10) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answer := a.refuse(t, b)
		runtime.ReadMemStats(&after)
		if len(answer) > mostAnswer {
			t.Errorf("%s: the answer has %d bytes", name, len(answer))
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(mostMemory*len(b.body)+smallMemory) {
			t.Errorf("%s: %d bytes of memory for %d bytes", name, took, len(b.body))
		}
	}
}

// TestViolationsAreLimited: an error lists the first 100 violations, and shows that there are more
// (D22.14).
func TestViolationsAreLimited(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	a := testAPI(t)
	for n, truncated := range map[int]bool{99: false, 100: false, 101: true, 5000: true} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":1,`, i)
		}
		answer := string(a.refuse(t, costly{"createClientSession", `{` + strings.TrimSuffix(b.String(), ",") + `}`}))
		if got := strings.Count(answer, "is not a known field"); got != min(n, domain.ListedViolations) {
			t.Errorf("%d of %d are listed", got, n)
		}
		if strings.Contains(answer, `"truncated":true`) != truncated {
			t.Errorf("%d violations: %.200s", n, answer)
		}
	}
}

func BenchmarkRefusals(b *testing.B) {
	a := testAPI(b)
	for name, body := range shapes(1 << 20) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body.body)))
			b.ReportAllocs()
			began := time.Now()
			for b.Loop() {
				a.refuse(b, body)
			}
			b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(b.N)/float64(len(body.body)), "ns/byte")
		})
	}
}
