package protocol

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// DisputesPath returns the path of a processor's list of dispute notifications.
func DisputesPath(name processor.Name) string {
	return "/v1/processors/" + url.PathEscape(string(name)) + "/disputes"
}

// MaxDisputePage bounds a page of that list.
const MaxDisputePage = 30

// DisputeList is a page of dispute notifications as sent, oldest first.
type DisputeList struct {
	Notifications []json.RawMessage `json:"notifications"`
	Next          string            `json:"next"` // the cursor of the next page, even if that is empty
	More          bool              `json:"more"`
}

// DisputeOrder is `POST /sim/disputes`.
type DisputeOrder struct {
	Reference  domain.PaymentID      `json:"reference"`
	Type       processor.DisputeType `json:"type"`
	ReasonCode string                `json:"reasonCode"` // the card scheme's
	Amount     *domain.Amount        `json:"amount,omitempty"`
}

// DisputeChange is `PATCH /sim/disputes/{id}`. Impossible changes are allowed: processors err, too.
type DisputeChange struct {
	Type   processor.DisputeType   `json:"type,omitempty"`
	Status processor.DisputeStatus `json:"status"`
}

// Dispute is a dispute as the control API shows it.
type Dispute struct {
	ID                     string                  `json:"id"`
	Processor              processor.Name          `json:"processor"`
	ProcessorMerchantID    string                  `json:"processorMerchantId"`
	Reference              domain.PaymentID        `json:"reference"`
	ProcessorTransactionID string                  `json:"processorTransactionId"`
	Type                   processor.DisputeType   `json:"type"`
	Status                 processor.DisputeStatus `json:"status"`
	ReasonCode             string                  `json:"reasonCode"`
	Amount                 domain.Amount           `json:"amount"`
	Currency               domain.Currency         `json:"currency"`
	ChallengeRequiredBy    time.Time               `json:"challengeRequiredBy"`
	CreatedAt              time.Time               `json:"createdAt"`
	UpdatedAt              time.Time               `json:"updatedAt"`
}

// ReasonCode is the form of card schemes' codes: "10.4", "4837", "F29".
var ReasonCode = regexp.MustCompile(`^[A-Za-z0-9.]{1,16}$`)

// Check returns an error for the first invalid field.
func (o DisputeOrder) Check() error {
	switch {
	case !domain.ValidID(string(o.Reference)):
		return fmt.Errorf("reference must be a payment id")
	case !slices.Contains(processor.DisputeTypes, o.Type):
		return fmt.Errorf("type must be one of %v", processor.DisputeTypes)
	case !ReasonCode.MatchString(o.ReasonCode):
		return fmt.Errorf("reasonCode must be 1 to 16 letters, digits and dots")
	case o.Amount != nil && (*o.Amount < 1 || *o.Amount > domain.MaxAmount):
		return fmt.Errorf("amount must be from 1 to %d minor units", domain.MaxAmount)
	}
	return nil
}

// Check returns an error for the first invalid field.
func (c DisputeChange) Check() error {
	switch {
	case c.Type != "" && !slices.Contains(processor.DisputeTypes, c.Type):
		return fmt.Errorf("type must be one of %v", processor.DisputeTypes)
	case !slices.Contains(processor.DisputeStatuses, c.Status):
		return fmt.Errorf("status must be one of %v", processor.DisputeStatuses)
	}
	return nil
}
