package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

func lower(c domain.Currency) string { return strings.ToLower(string(c)) }

// state returns the answer to the authorization of a PaymentIntent, from its present state:
//
//	a charge that was approved              SUCCEEDED, also if captured or cancelled later
//	requires_action                         ACTION_REQUIRED
//	processing                              PENDING
//	requires_payment_method, with an error  DECLINED, or FAILED if Stripe itself refused
//	canceled, abandoned                     DECLINED: the customer did not pass the check
//	canceled otherwise                      FAILED, voided
//
// Any other state is an error: the outcome stays unknown.
func (s *Stripe) state(intent *stripe.PaymentIntent) (processor.Answer, error) {
	if intent.ID == "" {
		return processor.Answer{}, errors.New("Stripe's answer names no PaymentIntent")
	}
	a := processor.Answer{ProcessorTransactionID: intent.ID, At: s.answered(intent.LastResponse)}
	if c := intent.LatestCharge; c != nil && c.Status == stripe.ChargeStatusSucceeded {
		a.State, a.At = processor.Succeeded, time.Unix(c.Created, 0).UTC()
		facts(&a, c)
		charged(&a, intent)
		return a, nil
	}
	switch intent.Status {
	case stripe.PaymentIntentStatusRequiresAction:
		a.State, a.ActionToken, a.ThreeDS = processor.ActionRequired, intent.ID, "CHALLENGE"
		if next := intent.NextAction; next != nil && next.RedirectToURL != nil && len(next.RedirectToURL.URL) <= 2048 {
			a.ActionURL = next.RedirectToURL.URL
		}
		return a, nil
	case stripe.PaymentIntentStatusProcessing:
		a.State = processor.Pending
		return a, nil
	case stripe.PaymentIntentStatusRequiresPaymentMethod:
		if intent.LastPaymentError != nil {
			return s.decline(intent, intent.LastPaymentError), nil
		}
	case stripe.PaymentIntentStatusCanceled:
		if intent.CancellationReason == stripe.PaymentIntentCancellationReasonAbandoned {
			a.State, a.Code, a.Message, a.ThreeDS = processor.Declined, codeAuthFailed, "the customer did not pass the check", "AUTH_FAILED"
			return a, nil
		}
		a.State, a.Code, a.Message = processor.Failed, protocol.CodeVoided, "the authorization was cancelled before it had a result"
		return a, nil
	}
	return processor.Answer{}, fmt.Errorf("a PaymentIntent is %q without a charge", intent.Status)
}

// decline returns the answer to a declined authorization.
func (s *Stripe) decline(intent *stripe.PaymentIntent, e *stripe.Error) processor.Answer {
	a := processor.Answer{
		State: processor.Declined, ProcessorTransactionID: intent.ID, At: s.answered(intent.LastResponse), Message: safe(e.Msg),
	}
	network := networkCode(e)
	if c := intent.LatestCharge; c != nil && c.Outcome != nil {
		a.At = time.Unix(c.Created, 0).UTC()
		network = c.Outcome.NetworkDeclineCode
		facts(&a, c)
		charged(&a, intent)
		if c.Outcome.Type == "blocked" {
			a.State, a.Code = processor.Failed, processor.CodeRejected
			return a
		}
	}
	a.Code = declineCode(network, e.DeclineCode, e.Code)
	a.Retryable = retryable[a.Code]
	if a.Code == codeAuthFailed && a.ThreeDS == "" {
		a.ThreeDS = "AUTH_FAILED"
	}
	return a
}

// facts adds the facts about the card and the checks.
func facts(a *processor.Answer, c *stripe.Charge) {
	risk := processor.Risk{}
	if c.Outcome != nil && c.Outcome.RiskLevel != "" && c.Outcome.RiskLevel != "not_assessed" && c.Outcome.RiskLevel != "unknown" {
		risk.FraudSource, risk.FraudPost = "STRIPE_RADAR", "ACCEPT"
		if c.Outcome.Type == "blocked" {
			risk.FraudPost = "REFUSE"
		}
	}
	if c.PaymentMethodDetails != nil && c.PaymentMethodDetails.Card != nil {
		card := c.PaymentMethodDetails.Card
		a.Bin = bin(card)
		if a.State == processor.Succeeded {
			a.AuthorizationCode = code(card.AuthorizationCode)
		}
		a.ThreeDS = threeDS(card.ThreeDSecure)
		if c := card.Checks; c != nil {
			checks(&risk, string(c.CVCCheck), string(c.AddressLine1Check), string(c.AddressPostalCodeCheck))
		}
	}
	if risk != (processor.Risk{}) {
		a.Risk = &risk
	}
}

var networks = map[stripe.PaymentMethodCardBrand]domain.Network{
	"amex": domain.NetworkAmex, "diners": domain.NetworkDiners, "discover": domain.NetworkDiscover, "jcb": domain.NetworkJCB,
	"mastercard": domain.NetworkMastercard, "unionpay": domain.NetworkUnionPay, "visa": domain.NetworkVisa,
}

var fundings = map[stripe.CardFunding]string{"credit": "CREDIT", "debit": "DEBIT", "prepaid": "PREPAID"}

func bin(card *stripe.ChargePaymentMethodDetailsCard) *processor.BinData {
	b := &processor.BinData{
		Network: networks[card.Brand], IssuerCountryCode: country(card.Country), IssuerName: safe(card.Issuer), ProductName: safe(card.Description),
		AccountFundingType: fundings[card.Funding], AccountNumberType: "PRIMARY_ACCOUNT_NUMBER",
	}
	if b.Network == "" {
		b.Network = domain.NetworkOther
	}
	if b.AccountFundingType == "" {
		b.AccountFundingType = "UNKNOWN"
	}
	if card.NetworkToken != nil && card.NetworkToken.Used {
		b.AccountNumberType = "NETWORK_TOKEN"
	}
	return b
}

func country(text string) string {
	if len(text) != 2 || strings.ToUpper(text) != text {
		return ""
	}
	return text
}

// code returns an issuer's authorization code, or "" if it is none.
func code(text string) string {
	if len(text) > 16 || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > 'z' }) {
		return ""
	}
	return text
}

// verified maps the results of Stripe's checks (enums: cvvAndAvsResult).
var verified = map[string]string{"pass": "MATCHED", "fail": "NOT_MATCHED", "unavailable": "NOT_VERIFIED", "unchecked": "NOT_VERIFIED"}

func checks(risk *processor.Risk, cvc, street, postalCode string) {
	if risk.CVVResult = verified[cvc]; risk.CVVResult != "" {
		risk.CVVSource = "STRIPE"
	}
	risk.AVSStreet, risk.AVSPostalCode = verified[street], verified[postalCode]
	if risk.AVSStreet != "" || risk.AVSPostalCode != "" {
		risk.AVSSource = "STRIPE"
	}
}

// threeDS maps the result of 3-D Secure (enums: threeDSecureResponseCode).
func threeDS(t *stripe.ChargePaymentMethodDetailsCardThreeDSecure) string {
	if t == nil {
		return ""
	}
	switch t.Result {
	case "authenticated", "attempt_acknowledged":
		return "AUTH_SUCCESS"
	case "failed":
		return "AUTH_FAILED"
	case "exempted":
		return "SKIPPED"
	case "not_supported", "processing_error":
		return "NOT_PERFORMED"
	}
	return ""
}

// raised reports whether an adjustment has raised the amount of a PaymentIntent.
func raised(intent *stripe.PaymentIntent) bool {
	return slices.ContainsFunc(stampsOf(intent.Metadata), func(t stamp) bool { return t.kind == processor.Adjust })
}
