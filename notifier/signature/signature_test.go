package signature_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"payledger/notifier/signature"
)

// vector is one row of testdata/vectors.json: everything that a receiver in another language needs.
type vector struct {
	Name      string              `json:"name"`
	Secrets   []string            `json:"secrets"` // of the receiver
	Headers   map[string][]string `json:"headers"` // as the webhook carries them
	Body      string              `json:"body"`    // raw, UTF-8
	Now       int64               `json:"now"`     // the receiver's clock, Unix seconds
	Tolerance int64               `json:"toleranceSeconds"`
	Result    string              `json:"result"` // OK, or the check that fails
	// SignedWith, if set, is the secret whose signature of the body is in X-Signature-Primary.
	SignedWith string `json:"signedWith,omitempty"`
}

// results names the errors in the vectors.
var results = map[string]error{
	"OK": nil, "NO_SECRET": signature.ErrNoSecret, "NO_SIGNATURE": signature.ErrNoSignature,
	"MISMATCH": signature.ErrMismatch, "SIGNED_AT": signature.ErrSignedAt,
	"EXPIRED": signature.ErrExpired, "FUTURE": signature.ErrFuture,
}

func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Vectors
}

func (v vector) header() http.Header {
	h := http.Header{}
	for name, values := range v.Headers {
		for _, value := range values {
			h.Add(name, value)
		}
	}
	return h
}

func TestVectors(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			expected, known := results[v.Result]
			if !known {
				t.Fatalf("unknown result %q", v.Result)
			}
			seen[v.Result] = true
			tolerance := time.Duration(v.Tolerance) * time.Second
			err := signature.VerifyWithin(tolerance, v.header(), []byte(v.Body), time.Unix(v.Now, 0), v.Secrets...)
			if !errors.Is(err, expected) || (expected == nil) != (err == nil) {
				t.Errorf("verified as %v, expected %v", err, expected)
			}
			if v.SignedWith == "" {
				return
			}
			if got := signature.Sign(v.SignedWith, []byte(v.Body)); got != v.Headers[signature.HeaderPrimary][0] {
				t.Errorf("signed as %s, the vector says %s", got, v.Headers[signature.HeaderPrimary][0])
			}
		})
	}
	for result := range results {
		if !seen[result] {
			t.Errorf("no vector ends in %s", result)
		}
	}
}

// TestRFC4231 pins HMAC-SHA256 to the standard's own vector (test case 2).
func TestRFC4231(t *testing.T) {
	if got, want := signature.Sign("Jefe", []byte("what do ya want for nothing?")), "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM="; got != want {
		t.Errorf("signed as %s, expected %s", got, want)
	}
}

// TestDefaultTolerance: three minutes either way are within, a second more is not (§8).
func TestDefaultTolerance(t *testing.T) {
	body := []byte(`{"signedAt":"1767225600"}`)
	header := http.Header{signature.HeaderPrimary: {signature.Sign("s", body)}}
	signed := time.Unix(1_767_225_600, 0)
	for offset, expected := range map[time.Duration]error{
		0: nil, 180 * time.Second: nil, -180 * time.Second: nil,
		181 * time.Second: signature.ErrExpired, -181 * time.Second: signature.ErrFuture,
	} {
		if err := signature.Verify(header, body, signed.Add(offset), "s"); !errors.Is(err, expected) {
			t.Errorf("received %v after signing: %v, expected %v", offset, err, expected)
		}
	}
}

// TestExactNames: a body with signedAt twice, or in another case, has no valid signedAt: two
// receivers would read two times.
func TestExactNames(t *testing.T) {
	for body, expected := range map[string]error{
		`{"signedAt":"1","signedAt":"1767225600"}`:        signature.ErrSignedAt,
		`{"signedAt":"1767225600","SignedAt":"1"}`:        nil,
		`{"SignedAt":"1767225600"}`:                       signature.ErrSignedAt,
		`{"message":"hello","message":"money"}`:           signature.ErrSignedAt,
		`{"signedAt":"1767225600","amount":1,"amount":2}`: signature.ErrSignedAt,
	} {
		header := http.Header{signature.HeaderPrimary: {signature.Sign("s", []byte(body))}}
		if err := signature.Verify(header, []byte(body), time.Unix(1_767_225_600, 0), "s"); !errors.Is(err, expected) {
			t.Errorf("%s: %v, expected %v", body, err, expected)
		}
	}
}

// FuzzVerify checks that no body is accepted that was not signed with the secret.
func FuzzVerify(f *testing.F) {
	for _, v := range vectors(f) {
		h := v.header()
		f.Add(h.Get(signature.HeaderPrimary), h.Get(signature.HeaderSecondary), []byte(v.Body))
	}
	f.Fuzz(func(t *testing.T, primary, secondary string, body []byte) {
		header := http.Header{signature.HeaderPrimary: {primary}, signature.HeaderSecondary: {secondary}}
		err := signature.Verify(header, body, time.Unix(1_767_225_600, 0), "plsec_fuzz")
		if own := signature.Sign("plsec_fuzz", body); err == nil && primary != own && secondary != own {
			t.Errorf("accepted %q %q for %q", primary, secondary, body)
		}
	})
}
