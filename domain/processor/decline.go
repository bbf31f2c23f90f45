package processor

// Decline is the unified meaning of a raw decline code (D13).
type Decline struct {
	Type          string // SOFT_DECLINE or HARD_DECLINE
	Code          string // enums: declineCode
	AdvisedAction string // enums: advisedAction
}

const (
	soft = "SOFT_DECLINE"
	hard = "HARD_DECLINE"
)

// Soft reports whether a retry may succeed.
func (d Decline) Soft() bool { return d.Type == soft }

// declines is the mapping of D13; any other code is a soft UNKNOWN.
var declines = map[string]Decline{
	"01": {Type: soft, Code: "REFER_TO_CARD_ISSUER"},
	"03": {Type: hard, Code: "ERROR"},
	"04": {Type: hard, Code: "LOST_OR_STOLEN_CARD"},
	"05": {Type: soft, Code: "DO_NOT_HONOR"},
	"07": {Type: hard, Code: "LOST_OR_STOLEN_CARD"},
	"12": {Type: hard, Code: "ERROR"},
	"13": {Type: hard, Code: "ERROR"},
	"14": {Type: hard, Code: "INVALID_CARD_NUMBER"},
	"15": {Type: hard, Code: "ERROR"},
	"19": {Type: soft, Code: "ISSUER_TEMPORARILY_UNAVAILABLE"},
	"1A": {Type: soft, Code: "AUTHENTICATION_REQUIRED"},
	"30": {Type: soft, Code: "DECLINED"},
	"41": {Type: hard, Code: "LOST_OR_STOLEN_CARD"},
	"43": {Type: hard, Code: "LOST_OR_STOLEN_CARD"},
	"46": {Type: hard, Code: "ERROR"},
	"51": {Type: soft, Code: "INSUFFICIENT_FUNDS"},
	"54": {Type: hard, Code: "EXPIRED_CARD"},
	"57": {Type: hard, Code: "ERROR"},
	"58": {Type: hard, Code: "ERROR"},
	"59": {Type: hard, Code: "SUSPECTED_FRAUD"},
	"61": {Type: soft, Code: "WITHDRAWAL_LIMIT_EXCEEDED"},
	"65": {Type: soft, Code: "AUTHENTICATION_REQUIRED"},
	"91": {Type: soft, Code: "ISSUER_TEMPORARILY_UNAVAILABLE"},
}

// ExplainDecline returns the unified meaning of a raw code, with the advised action.
func ExplainDecline(raw string) Decline {
	d, known := declines[raw]
	if !known {
		d = Decline{Type: soft, Code: "UNKNOWN"}
	}
	switch {
	case d.Code == "LOST_OR_STOLEN_CARD" || d.Code == "SUSPECTED_FRAUD":
		d.AdvisedAction = "STOP_ALL_PAYMENTS"
	case d.Code == "EXPIRED_CARD" || d.Code == "INVALID_CARD_NUMBER":
		d.AdvisedAction = "UPDATE_DATA"
	case d.Type == hard:
		d.AdvisedAction = "DO_NOT_RETRY"
	default:
		d.AdvisedAction = "RETRY_LATER"
	}
	return d
}
