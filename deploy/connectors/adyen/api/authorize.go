package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

type payment struct {
	MerchantAccount          string            `json:"merchantAccount"`
	Amount                   amount            `json:"amount"`
	Reference                string            `json:"reference"`
	MerchantOrderReference   string            `json:"merchantOrderReference"`
	PaymentMethod            method            `json:"paymentMethod"`
	ReturnURL                string            `json:"returnUrl"`
	ShopperStatement         string            `json:"shopperStatement,omitempty"`
	ShopperInteraction       string            `json:"shopperInteraction"`
	RecurringProcessingModel string            `json:"recurringProcessingModel,omitempty"`
	AuthenticationData       authentication    `json:"authenticationData"`
	AdditionalData           map[string]string `json:"additionalData"`
}

type method struct {
	Type        string `json:"type"`
	Number      string `json:"number"`
	CVC         string `json:"cvc,omitempty"`
	ExpiryMonth string `json:"expiryMonth"`
	ExpiryYear  string `json:"expiryYear"`
	HolderName  string `json:"holderName,omitempty"`
}

type authentication struct {
	AttemptAuthentication string `json:"attemptAuthentication"`
}

// paid is Adyen's answer to a payment.
type paid struct {
	ResultCode        string            `json:"resultCode"`
	PspReference      string            `json:"pspReference"`
	MerchantReference string            `json:"merchantReference"`
	RefusalReason     string            `json:"refusalReason"`
	RefusalReasonCode string            `json:"refusalReasonCode"`
	Amount            *amount           `json:"amount"`
	AdditionalData    map[string]string `json:"additionalData"`
}

// testCard is a card of Adyen's test environment.
type testCard struct {
	cases  []protocol.TestCase
	demand string // the refusal reason code that it has
}

// testCards have one date and one security code at Adyen, whatever the request has.
var testCards = map[string]testCard{
	"4111111145551142": {cases: []protocol.TestCase{protocol.CardApproved, protocol.CardCapturePending}},
	"4988438843884305": {cases: []protocol.TestCase{protocol.CardDeclined}, demand: "2"},
	"5555444433331111": {cases: []protocol.TestCase{protocol.CardRejected}, demand: "20"},
}

// authorize sends an authorization.
func (v *Vendor) authorize(ctx context.Context, o connector.Order) (connector.Result, error) {
	if o.Card == nil {
		return connector.Result{}, errors.New("the card is gone")
	}
	var r paid
	err := v.post(ctx, "/payments", o.Key, v.payment(o), &r)
	if said, refused := errors.AsType[*refusal](err); refused {
		return v.refused(o, said)
	}
	if err != nil {
		return connector.Result{}, err
	}
	if r.MerchantReference != "" && r.MerchantReference != reference(o) {
		return connector.Result{}, errors.New("Adyen's answer is about another payment") //nolint:staticcheck // a name
	}
	result := connector.Result{Amount: o.Amount, Currency: o.Currency}
	if r.Amount != nil {
		result.Amount, result.Currency = fromAdyen(*r.Amount), r.Amount.Currency
	}
	result.Answer, err = r.answer(v.now())
	return result, err
}

func (v *Vendor) payment(o connector.Order) payment {
	value, _ := toAdyen(o.Amount, o.Currency)
	p := payment{
		MerchantAccount: v.Account, Amount: value, Reference: reference(o), MerchantOrderReference: string(o.Reference), ReturnURL: v.ReturnURL,
		PaymentMethod: method{
			Type: "scheme", Number: o.Card.Number, CVC: o.Card.CVV, ExpiryMonth: o.Card.ExpirationMonth, ExpiryYear: o.Card.ExpirationYear,
			HolderName: o.Card.CardholderName,
		},
		ShopperStatement: o.Descriptor, ShopperInteraction: "Ecommerce", AuthenticationData: authentication{"never"},
		AdditionalData: map[string]string{"manualCapture": "true", "authorisationType": "FinalAuth"},
	}
	if o.ReturnURL != "" {
		p.ReturnURL = o.ReturnURL
	}
	if o.AuthorizationType == "ESTIMATED" {
		p.AdditionalData["authorisationType"] = "PreAuth"
	}
	switch o.PaymentType {
	case "SUBSCRIPTION":
		p.ShopperInteraction, p.RecurringProcessingModel = "ContAuth", "Subscription"
	case "UNSCHEDULED":
		p.ShopperInteraction, p.RecurringProcessingModel = "ContAuth", "UnscheduledCardOnFile"
	}
	if card, known := testCards[o.Card.Number]; known && !v.Live {
		p.PaymentMethod.ExpiryMonth, p.PaymentMethod.ExpiryYear, p.PaymentMethod.CVC = "03", "2030", "737"
		if card.demand != "" {
			p.AdditionalData["RequestedTestAcquirerResponseCode"] = card.demand
		}
	}
	return p
}

// answer returns the answer for a result code. A code that is not known is no result.
func (r paid) answer(now time.Time) (processor.Answer, error) {
	a := processor.Answer{ProcessorTransactionID: r.PspReference, ProcessorEventID: r.PspReference, At: now}
	switch r.ResultCode {
	case "Authorised":
		a.State, a.AuthorizationCode = processor.Succeeded, r.AdditionalData["authCode"]
	case "Pending", "Received":
		a.State = processor.Pending
	case "Refused":
		reason(&a, r.RefusalReasonCode, r.RefusalReason, r.AdditionalData["refusalReasonRaw"])
	case "Error":
		reason(&a, r.RefusalReasonCode, r.RefusalReason, "")
		a.State, a.Code, a.Retryable = processor.Failed, protocol.CodeTechnicalError, r.RefusalReasonCode == acquirerError
	case "Cancelled":
		a.State, a.Code, a.Message = processor.Failed, "cancelled", plain(r.RefusalReason)
	case "RedirectShopper", "IdentifyShopper", "ChallengeShopper", "PresentToShopper":
		// Adyen authorizes nothing before the customer has passed the check, which nobody can begin
		// now.
		a.State, a.Code, a.Message = processor.Declined, protocol.CodeAuthenticationError, "the bank wants to ask the customer"
	default:
		return a, fmt.Errorf("Adyen's result code %q is not known", plain(r.ResultCode)) //nolint:staticcheck // a name
	}
	a.Bin, a.Risk = facts(r.AdditionalData)
	return a, nil
}

var networks = map[string]domain.Network{
	"visa": domain.NetworkVisa, "mc": domain.NetworkMastercard, "amex": domain.NetworkAmex, "discover": domain.NetworkDiscover,
	"diners": domain.NetworkDiners, "jcb": domain.NetworkJCB, "cup": domain.NetworkUnionPay, "maestro": domain.NetworkMaestro,
}

var checks = map[string]string{
	"0": "NOT_VERIFIED", "1": "MATCHED", "2": "NOT_MATCHED", "3": "NOT_VERIFIED", "4": "NOT_VERIFIED", "5": "NOT_VERIFIED", "6": "NOT_PROVIDED",
}

// facts returns what Adyen says about the card, as far as the account has its additional data on.
func facts(more map[string]string) (*processor.BinData, *processor.Risk) {
	var bin *processor.BinData
	var risk *processor.Risk
	network, known := networks[more["paymentMethod"]]
	country, funding := more["issuerCountry"], more["fundingSource"]
	if known || country != "" || funding != "" {
		bin = &processor.BinData{Network: network, IssuerCountryCode: country, IssuerName: plain(more["cardIssuingBank"]), AccountFundingType: funding}
	}
	if cvc := checks[first(more["cvcResult"])]; cvc != "" {
		risk = &processor.Risk{CVVSource: "ADYEN", CVVResult: cvc}
	}
	return bin, risk
}

// first returns the leading digit of a result such as "1 Matches".
func first(text string) string {
	if text == "" || len(text) > 1 && text[1] != ' ' {
		return ""
	}
	return text[:1]
}
