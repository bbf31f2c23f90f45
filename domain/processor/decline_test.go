package processor_test

import (
	"testing"

	"payledger/domain/processor"
)

// TestExplainDecline is the mapping of D13, row by row.
func TestExplainDecline(t *testing.T) {
	const (
		soft, hard = "SOFT_DECLINE", "HARD_DECLINE"
		retry      = "RETRY_LATER"
		change     = "UPDATE_DATA"
		never      = "DO_NOT_RETRY"
		stop       = "STOP_ALL_PAYMENTS"
	)
	rows := []struct{ raw, kind, code, advice string }{
		{"01", soft, "REFER_TO_CARD_ISSUER", retry},
		{"03", hard, "ERROR", never},
		{"12", hard, "ERROR", never},
		{"13", hard, "ERROR", never},
		{"15", hard, "ERROR", never},
		{"46", hard, "ERROR", never},
		{"57", hard, "ERROR", never},
		{"58", hard, "ERROR", never},
		{"04", hard, "LOST_OR_STOLEN_CARD", stop},
		{"07", hard, "LOST_OR_STOLEN_CARD", stop},
		{"41", hard, "LOST_OR_STOLEN_CARD", stop},
		{"43", hard, "LOST_OR_STOLEN_CARD", stop},
		{"05", soft, "DO_NOT_HONOR", retry},
		{"14", hard, "INVALID_CARD_NUMBER", change},
		{"19", soft, "ISSUER_TEMPORARILY_UNAVAILABLE", retry},
		{"91", soft, "ISSUER_TEMPORARILY_UNAVAILABLE", retry},
		{"30", soft, "DECLINED", retry},
		{"51", soft, "INSUFFICIENT_FUNDS", retry},
		{"54", hard, "EXPIRED_CARD", change},
		{"59", hard, "SUSPECTED_FRAUD", stop},
		{"61", soft, "WITHDRAWAL_LIMIT_EXCEEDED", retry},
		{"65", soft, "AUTHENTICATION_REQUIRED", retry},
		{"1A", soft, "AUTHENTICATION_REQUIRED", retry},
		{"", soft, "UNKNOWN", retry},
		{"00", soft, "UNKNOWN", retry},
		{"5", soft, "UNKNOWN", retry},
		{"1a", soft, "UNKNOWN", retry},
		{"99", soft, "UNKNOWN", retry},
	}
	for _, row := range rows {
		want := processor.Decline{Type: row.kind, Code: row.code, AdvisedAction: row.advice}
		if got := processor.ExplainDecline(row.raw); got != want {
			t.Errorf("%q means %+v, not %+v", row.raw, got, want)
		}
	}
}
