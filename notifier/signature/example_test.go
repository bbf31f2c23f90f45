package signature_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"payledger/notifier/signature"
)

// A receiver reads the raw body, verifies it, and only then looks into it.
func ExampleVerify() {
	secret := "plsec_example"
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err == nil {
			err = signature.Verify(r.Header, body, time.Now(), secret)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Println("genuine:", string(body))
	}

	body := `{"message":"hello"}` // the test message of the dashboard; every other webhook carries signedAt
	r := httptest.NewRequest(http.MethodPost, "/webhooks", strings.NewReader(body))
	r.Header.Set(signature.HeaderPrimary, signature.Sign(secret, []byte(body)))
	receive(httptest.NewRecorder(), r)

	forged := httptest.NewRequest(http.MethodPost, "/webhooks", strings.NewReader(`{"message":"send money"}`))
	forged.Header = r.Header
	w := httptest.NewRecorder()
	receive(w, forged)
	fmt.Print(w.Code, " ", w.Body)

	// Output:
	// genuine: {"message":"hello"}
	// 400 signature: the signature does not fit the body
}

// During a rotation the webhook has two signatures. A receiver with only one of the two secrets
// accepts it, too (§5.2 rule 3).
func ExampleVerify_rotation() {
	now := time.Unix(1_767_225_600, 0)
	body := []byte(`{"eventType":"PAYMENT.STATUS","signedAt":"1767225600"}`)
	header := http.Header{}
	header.Set(signature.HeaderPrimary, signature.Sign("plsec_new", body))
	header.Set(signature.HeaderSecondary, signature.Sign("plsec_previous", body))

	fmt.Println(signature.Verify(header, body, now, "plsec_previous"))
	fmt.Println(signature.Verify(header, body, now, "plsec_new", "plsec_previous"))
	fmt.Println(signature.Verify(header, body, now.Add(4*time.Minute), "plsec_new"))
	// Output:
	// <nil>
	// <nil>
	// signature: signedAt is too old
}
