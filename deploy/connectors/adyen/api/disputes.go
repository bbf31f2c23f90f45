package api

import (
	"strings"
	"time"

	"payledger/domain/processor"
)

// stages are the events of disputes, with the status that they have without a disputeStatus.
var stages = map[string]struct {
	stage  processor.DisputeType
	status processor.DisputeStatus
	own    bool // the event itself decides, whatever disputeStatus says
}{
	"REQUEST_FOR_INFORMATION":           {processor.Retrieval, processor.DisputeOpen, false},
	"NOTIFICATION_OF_CHARGEBACK":        {processor.Chargeback, processor.DisputeOpen, false},
	"DISPUTE_OPENED_WITH_CHARGEBACK":    {processor.Chargeback, processor.DisputeOpen, false},
	"CHARGEBACK":                        {processor.Chargeback, processor.DisputeOpen, false},
	"INFORMATION_SUPPLIED":              {processor.Chargeback, processor.DisputeChallenged, true},
	"CHARGEBACK_REVERSED":               {processor.Chargeback, processor.DisputeChallenged, false}, // the bank may answer
	"DISPUTE_DEFENSE_PERIOD_ENDED":      {processor.Chargeback, processor.DisputeExpired, false},
	"ISSUER_RESPONSE_TIMEFRAME_EXPIRED": {processor.Chargeback, processor.DisputeWon, true},
	"SECOND_CHARGEBACK":                 {processor.Chargeback, processor.DisputeLost, true},
	"PREARBITRATION_OPENED":             {processor.Prearbitration, processor.DisputeOpen, false},
	"PREARBITRATION_WON":                {processor.Prearbitration, processor.DisputeWon, true},
	"PREARBITRATION_LOST":               {processor.Prearbitration, processor.DisputeLost, true},
}

// statuses are the words of disputeStatus.
var statuses = map[string]processor.DisputeStatus{
	"Undefended": processor.DisputeOpen, "Unresponded": processor.DisputeOpen, "Pending": processor.DisputeChallenged,
	"Responded": processor.DisputeChallenged, "Accepted": processor.DisputeAccepted, "Expired": processor.DisputeExpired,
	"Won": processor.DisputeWon, "Lost": processor.DisputeLost,
}

// dispute returns the change of a dispute that an item tells (D16); nil if it tells none.
func dispute(i item) *processor.DisputeUpdate {
	stage, known := stages[i.EventCode]
	if !known || i.PspReference == "" {
		return nil
	}
	d := &processor.DisputeUpdate{
		ID: i.PspReference, MerchantID: i.MerchantAccountCode, TransactionID: i.more("capturePspReference"), Type: stage.stage, Status: stage.status,
		ReasonCode: strings.TrimSpace(i.more("chargebackReasonCode")), Wording: plain(i.Reason), Amount: fromAdyen(i.Amount), Currency: i.Amount.Currency, At: i.EventDate.UTC(),
	}
	if d.TransactionID == "" {
		d.TransactionID = i.OriginalReference
	}
	if d.ReasonCode == "" {
		d.ReasonCode = strings.TrimSpace(i.more("rfiReasonCode"))
	}
	if status, told := statuses[i.more("disputeStatus")]; told && !stage.own {
		d.Status = status
	}
	if by, err := time.Parse(time.RFC3339, i.more("defensePeriodEndsAt")); err == nil {
		d.ChallengeBy = by.UTC()
	}
	return d
}
