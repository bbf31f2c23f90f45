package export

import (
	"encoding/json"
	"fmt"

	"payledger/projections/paymentjson"
)

// setDetails sets the columns that other systems ask for beside the money: where the payment comes
// from, and what was checked. The session is in the payment's first event only.
func (row *PaymentRow) setDetails(e Event, before PaymentRow) error {
	if row.SessionID = before.SessionID; before.ID == "" {
		var created struct {
			Session string `json:"sessionId"`
		}
		if err := json.Unmarshal(e.Fact, &created); err != nil {
			return fmt.Errorf("export: event at position %d: %w", e.Position, err)
		}
		row.SessionID = created.Session
	}
	p := e.Payment
	if p.Order != nil {
		row.Country = p.Order.CountryCode
	}
	if len(p.Metadata) > 0 {
		text, err := json.Marshal(p.Metadata)
		if err != nil {
			return fmt.Errorf("export: metadata at position %d: %w", e.Position, err)
		}
		row.Metadata = string(text)
	}
	if of := p.PaymentMethod.ThreeDSecureAuthentication; of != nil {
		row.ThreeDSecure = of.ResponseCode
	}
	row.setRisk(p.RiskData)
	return nil
}

func (row *PaymentRow) setRisk(risk *paymentjson.RiskData) {
	if risk == nil {
		return
	}
	if of := risk.FraudChecks; of != nil {
		row.FraudBefore, row.FraudAfter = of.PreAuthorizationResult, of.PostAuthorizationResult
	}
	if of := risk.CVVCheck; of != nil {
		row.CVVCheck = of.Result
	}
	if of := risk.AVSCheck; of != nil && of.Result != nil {
		row.AVSStreet, row.AVSPostalCode = of.Result.StreetAddress, of.Result.PostalCode
	}
}
