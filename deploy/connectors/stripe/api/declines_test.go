package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
)

// TestDeclines: each of Stripe's decline codes has a raw code with this meaning and advice (D13).
func TestDeclines(t *testing.T) {
	meanings := map[string]string{
		"RETRY_LATER AUTHENTICATION_REQUIRED":        "authentication_required offline_pin_required online_or_offline_pin_required",
		"RETRY_LATER REFER_TO_CARD_ISSUER":           "approve_with_id call_issuer",
		"RETRY_LATER DO_NOT_HONOR":                   "do_not_honor generic_decline incorrect_zip incorrect_address no_action_taken",
		"RETRY_LATER INSUFFICIENT_FUNDS":             "insufficient_funds",
		"RETRY_LATER WITHDRAWAL_LIMIT_EXCEEDED":      "card_velocity_exceeded withdrawal_count_limit_exceeded",
		"RETRY_LATER ISSUER_TEMPORARILY_UNAVAILABLE": "issuer_not_available processing_error reenter_transaction try_again_later",
		"RETRY_LATER UNKNOWN":                        "duplicate_transaction incorrect_cvc invalid_cvc incorrect_pin invalid_pin pin_try_exceeded",
		"UPDATE_DATA EXPIRED_CARD":                   "expired_card invalid_expiry_month invalid_expiry_year",
		"UPDATE_DATA INVALID_CARD_NUMBER":            "incorrect_number invalid_number invalid_account new_account_information_available",
		"STOP_ALL_PAYMENTS LOST_OR_STOLEN_CARD":      "lost_card stolen_card pickup_card",
		"STOP_ALL_PAYMENTS SUSPECTED_FRAUD":          "fraudulent merchant_blacklist security_violation",
		"DO_NOT_RETRY ERROR": "card_not_supported currency_not_supported do_not_try_again invalid_amount not_permitted restricted_card revocation_of_all_authorizations " +
			"revocation_of_authorization service_not_allowed stop_payment_order testmode_decline transaction_not_allowed",
	}
	listed := map[string]bool{}
	for meaning, codes := range meanings {
		for code := range strings.FieldsSeq(codes) {
			listed[code] = true
			raw := declineCode("", stripe.DeclineCode(code), stripe.ErrorCodeCardDeclined)
			d := processor.ExplainDecline(raw)
			if got := d.AdvisedAction + " " + d.Code; got != meaning || len(raw) != 2 {
				t.Errorf("%s is %s: %s, want %s", code, raw, got, meaning)
			}
		}
	}
	for code := range rawCodes {
		if !listed[string(code)] {
			t.Errorf("%s is in no row", code)
		}
	}
	for _, code := range published(t) {
		if !listed[code] {
			t.Errorf("Stripe's decline code %s has no raw code", code)
		}
	}
}

// published returns the decline codes of stripe-go.
func published(t *testing.T) (codes []string) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/stripe/stripe-go/v84").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "error.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, is := n.(*ast.ValueSpec); is && len(v.Values) == 1 {
			if kind, named := v.Type.(*ast.Ident); named && kind.Name == "DeclineCode" {
				codes = append(codes, strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
		return true
	})
	if len(codes) < 40 {
		t.Fatalf("%d decline codes found", len(codes))
	}
	return codes
}

// TestNetworkCode: the network's own code counts if it has a meaning; a code without one does not
// hide Stripe's.
func TestNetworkCode(t *testing.T) {
	for _, row := range []struct {
		network string
		decline stripe.DeclineCode
		code    stripe.ErrorCode
		want    string
	}{
		{"51", "generic_decline", "card_declined", "51"},
		{"N7", "incorrect_cvc", "incorrect_cvc", "N7"},
		{"Z9", "insufficient_funds", "card_declined", "51"},
		{"116", "insufficient_funds", "card_declined", "51"}, // of a scheme with three digits
		{"Z9", "a_new_one", "card_declined", "Z9"},
		{"", "a_new_one", "card_declined", "a_new_one"},
		{"", "", "expired_card", "54"},
		{"", "", "a_new_one", "a_new_one"},
		{"", "", "", "05"},
	} {
		if got := declineCode(row.network, row.decline, row.code); got != row.want {
			t.Errorf("%q %q %q: %q, want %q", row.network, row.decline, row.code, got, row.want)
		}
	}
}
