package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"payledger/processorsim/protocol"
)

// BenchmarkOtherRefusals measures headers, parameters, forms, notifications and conditions that
// cost much for each of their bytes, over HTTP with the client in the same process. No answer has
// more than 64 kB (D22.14).
func BenchmarkOtherRefusals(b *testing.B) {
	r := siteOf(b, newHookRig(b, webhooks{}).rig)
	merchant := http.Header{"X-Api-Key": {r.account.APIKey}, "X-Api-Version": {"2.4"}, "Content-Type": {"application/json"}}
	call := func(method, path string, header http.Header, body string) func() (int, int) {
		return func() (int, int) {
			a := r.rig.send(method, path, header, strings.NewReader(body))
			return a.status, len(a.text)
		}
	}
	with := func(more http.Header) http.Header {
		h := merchant.Clone()
		for k, v := range more {
			h[k] = v
		}
		return h
	}
	repeat := func(piece string, size int) string { return strings.Repeat(piece, size/len(piece)) }
	many := func(n int, f string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, f, i)
		}
		return b.String()
	}
	headers := http.Header{}
	for i := range 199 {
		headers[fmt.Sprintf("X-Idempotency-Ke%d", i)] = []string{repeat("x", 100)}
	}
	notification := func(body string) func() (int, int) {
		return call("POST", "/processors/ADYEN/notifications", http.Header{"Content-Type": {"application/json"}, http.CanonicalHeaderKey(protocol.HeaderSignature): {protocol.Sign(processorSecret, []byte(body))}}, body)
	}
	condition := func(c string) func() (int, int) {
		return call("POST", "/management/workflows/check", merchant, `{"eventType":"PAYMENT.REFUND","condition":`+fmt.Sprintf("%q", c)+`}`)
	}
	for _, c := range []struct {
		name string
		size int
		call func() (int, int)
	}{
		{"nothing", 1, call("GET", "/payments/x", merchant, "")},
		{"1 MiB of a string", 1 << 20, call("POST", "/payments", merchant, `{"paymentMethodToken":"`+repeat("x", 1<<20-100)+`"}`)},
		{"headers", 24 << 10, call("GET", "/payments", with(headers), "")},
		{"parameters", 6 << 10, call("GET", "/payments?"+many(199, "currency_cod%d=x&"), merchant, "")},
		{"a list of parameters", 8 << 10, call("GET", "/payments?status="+repeat("X,", 8000), merchant, "")},
		{"repeated parameters", 8 << 10, call("GET", "/payments?"+repeat("status=X&", 1700), merchant, "")},
		{"customers with commas", 8 << 10, call("GET", "/payments?customer_id="+repeat("X,", 8000), merchant, "")},
		{"form of fields", 60 << 10, call("POST", "/dashboard/login", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {r.url}}, many(3990, "f%d=1&"))},
		{"form of one value", 500 << 10, call("POST", "/dashboard/login", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {r.url}}, "next="+repeat("%41", 500<<10))},
		{"form of ampersands", 500 << 10, call("POST", "/dashboard/login", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {r.url}}, repeat("&", 500<<10))},
		{"notification of objects", 60000, notification(`{"x":[` + repeat("{},", 60000) + `{}]}`)},
		{"notification of ones", 60000, notification(`{"x":[` + repeat("1,", 60000) + `1]}`)},
		{"notification of fields", 60000, notification(`{` + many(5000, `"k%d":1,`) + `"z":1}`)},
		{"notification nested", 60000, notification(repeat("[", 30000) + repeat("]", 30000))},
		{"notification of events", 60000, notification(`{"id":"e","type":"x","notificationItems":[` + repeat(`{"a":{}},`, 60000) + `{}]}`)},
		{"unsigned", 60000, call("POST", "/processors/ADYEN/notifications", http.Header{"Content-Type": {"application/json"}, http.CanonicalHeaderKey(protocol.HeaderSignature): {"x"}}, repeat("[", 60000))},
		{"condition of ands", 2 << 10, condition(strings.TrimSuffix(repeat("1==1&&", 1900), "&&"))},
		{"condition of brackets", 2 << 10, condition(repeat("(", 900) + "1" + repeat(")", 900))},
		{"condition of lists", 2 << 10, condition("[" + repeat("[],", 1900) + "1]==[]")},
		{"condition of minus", 2 << 10, condition(repeat("-", 1900) + "1==1")},
		{"condition of nots", 2 << 10, condition(repeat("!", 1900) + "true")},
		{"condition of fields", 2 << 10, condition("payment" + repeat(".a", 1900))},
		{"condition of macros", 2 << 10, condition(repeat("[1].all(x,", 1900) + "true" + strings.Repeat(")", 190))},
		{"condition of ternaries", 2 << 10, condition(repeat("true?1==1:", 1900) + "true")},
		{"condition of strings", 2 << 10, condition(repeat(`"x"+`, 1900) + `"x"==""`)},
		{"condition of unknown names", 2 << 10, condition(strings.TrimSuffix(repeat("a==b||", 1900), "||"))},
		{"condition of errors", 2 << 10, condition(repeat("$ ", 1900))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			for b.Loop() {
				if _, size := c.call(); size > 64_000 {
					b.Errorf("an answer has %d bytes", size)
				}
			}
		})
	}
}
