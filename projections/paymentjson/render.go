package paymentjson

import (
	"cmp"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

const (
	transactionSale   = "SALE" // enums: transactionType
	transactionRefund = "REFUND"
)

// asking is the message of a status reason while the outcome is unknown (D8).
const asking = "The processor has not answered in time; it is being asked for the outcome."

// Options select optional parts of a Payment JSON.
type Options struct {
	Events       bool   // expand=transactions.events
	First6Digits bool   // show first6Digits: the account opted in (§2.2)
	Webhook      bool   // without order and requiredAction, transactions with transactionType only (D17)
	ActionToken  string // clientToken of a required action; "" leaves it out
}

// Render returns the Payment JSON of a state. p is the state's opened personal data; the fields of
// erased data are left out. The result shares order, metadata and addresses with its arguments.
func Render(s payment.State, p domain.Personal, o Options) Payment {
	out := Payment{
		ID: s.ID, Date: Time{s.CreatedAt}, DateUpdated: Time{s.UpdatedAt},
		Status: s.Status(), StatusReason: renderReason(s.StatusReason()),
		OrderID: s.OrderID, CustomerID: s.CustomerID, CurrencyCode: s.Currency, Amount: s.Amount,
		CardTokenType: cardTokenType(s, payment.Operation{}), PaymentMethod: renderMethod(s, p.CardholderName, o),
		Processor: renderProcessor(s), Transactions: renderTransactions(s, o),
		Customer: RenderCustomer(p.Customer), Metadata: s.Metadata, RiskData: renderRisk(s.Risk),
	}
	if !o.Webhook {
		out.Order, out.RequiredAction = s.Details().Order, RenderAction(s.RequiredAction(), o.ActionToken)
	}
	return out
}

// actionDescriptions describe actions for people (enums: requiredActionName).
var actionDescriptions = map[string]string{
	"3DS_AUTHENTICATION": "The customer must complete a 3-D Secure authentication.",
}

// RenderAction renders a required action with the client token that starts it (D6); nil gives nil.
func RenderAction(a *payment.RequiredAction, token string) *RequiredAction {
	if a == nil {
		return nil
	}
	return &RequiredAction{Name: a.Name, Description: actionDescriptions[a.Name], ClientToken: token}
}

// cardTokenType returns with what an operation's card was charged; without an operation, with what
// the newest authorization was made. It is set on card payments only (§2.1).
func cardTokenType(s payment.State, op payment.Operation) processor.CardTokenType {
	if s.Method.Type != instrument.MethodCard {
		return ""
	}
	return s.CardTokenType(op)
}

func renderReason(r *payment.Reason) *StatusReason {
	if r == nil {
		return nil
	}
	out := &StatusReason{Type: r.Type, Message: r.ResultMessage}
	switch r.Type {
	case domain.IssuerDeclined:
		out.DeclineType, out.Code, out.AdvisedAction = r.Decline.Type, r.Decline.Code, r.Decline.AdvisedAction
		out.PaymentMethodResultCode, out.PaymentMethodResultMessage = r.ResultCode, r.ResultMessage
	case domain.GatewayTimeout:
		out.Message = cmp.Or(out.Message, asking)
	}
	return out
}

func renderMethod(s payment.State, cardholder string, o Options) PaymentMethod {
	m, c := s.Method, s.Method.Card
	out := PaymentMethod{
		PaymentType: m.PaymentType, PaymentMethodToken: m.Token, IsVaulted: m.Vaulted || s.Vaults(),
		AuthorizationType: m.AuthorizationType, FirstPaymentReason: m.FirstPaymentReason,
		Descriptor: m.Descriptor, AnalyticsID: m.AnalyticsID, PaymentMethodType: m.Type,
		PaymentMethodData: RenderCard(c, s.Bin, cardholder, o.First6Digits),
	}
	out.PaymentMethodData.IsNetworkTokenized = cardTokenType(s, payment.Operation{}) == processor.NetworkToken
	if wishes := s.Details().Preferences; wishes != nil {
		out.OrderedAllowedCardNetworks, out.Options = wishes.AllowedNetworks, wishes.Options
	}
	out.ThreeDSecureAuthentication = some(ThreeDSecure{ResponseCode: s.ThreeDS})
	return out
}

// RenderCard renders the parts of a card that may be shown (§2.2), with the processor's bin data or
// nil.
func RenderCard(c domain.Card, answered *processor.BinData, cardholder string, first6Digits bool) CardData {
	out := CardData{
		FirstDigits: c.FirstDigits, Last4Digits: c.Last4Digits,
		ExpirationMonth: c.ExpirationMonth, ExpirationYear: c.ExpirationYear,
		CardholderName: cardholder, Network: c.Network, CVVAvailable: c.CVVAvailable,
		BinData: renderBin(c, answered),
	}
	if first6Digits && c.First6Digits != "" {
		out.First6Digits = &c.First6Digits
	}
	return out
}

// The words of binData for facts that nobody has told (§2.2).
const (
	binUnknown       = "UNKNOWN"
	binNotApplicable = "NOT_APPLICABLE"
	fundingPrepaid   = "PREPAID"
)

// renderBin returns the bin data of the processor's answer (D6). Strict clients need all fields but
// the issuer's: those that the answer has not are UNKNOWN; the network is that of the card's number
// then, and the indicator of prepaid cards applies to no other card.
func renderBin(c domain.Card, answered *processor.BinData) processor.BinData {
	var bin processor.BinData
	if answered != nil {
		bin = *answered
	}
	bin.Network = cmp.Or(bin.Network, c.Network)
	for _, field := range []*string{
		&bin.RegionalRestriction, &bin.AccountNumberType, &bin.AccountFundingType, &bin.ProductUsageType, &bin.ProductCode, &bin.ProductName,
	} {
		*field = cmp.Or(*field, binUnknown)
	}
	reloadable := binNotApplicable
	if bin.AccountFundingType == fundingPrepaid {
		reloadable = binUnknown
	}
	bin.PrepaidReloadableIndicator = cmp.Or(bin.PrepaidReloadableIndicator, reloadable)
	return bin
}

// renderProcessor renders the processor of the newest authorization, with the amounts that it
// confirmed (D6).
func renderProcessor(s payment.State) *PaymentProcessor {
	op := s.Authorization()
	if op == nil {
		return nil
	}
	return &PaymentProcessor{
		Name: op.Target.Processor, ProcessorMerchantID: op.Target.MerchantID,
		AmountCaptured: s.Captured(), AmountRefunded: s.Refunded(),
	}
}

// RenderCustomer renders a customer, with the e-mail address under both field names (D4).
func RenderCustomer(c *domain.Customer) *Customer {
	if c == nil {
		return nil
	}
	return &Customer{
		Email: c.Email, EmailAddress: c.Email, MobileNumber: c.MobileNumber, FirstName: c.FirstName,
		LastName: c.LastName, TaxID: c.TaxID, NationalDocumentID: c.NationalDocumentID,
		BillingAddress: c.BillingAddress, ShippingAddress: c.ShippingAddress,
	}
}

func renderRisk(r *processor.Risk) *RiskData {
	if r == nil {
		return nil
	}
	return &RiskData{
		FraudChecks: some(FraudChecks{Source: r.FraudSource, PreAuthorizationResult: r.FraudPre, PostAuthorizationResult: r.FraudPost}),
		CVVCheck:    some(CVVCheck{Source: r.CVVSource, Result: r.CVVResult}),
		AVSCheck: some(AVSCheck{
			Source: r.AVSSource, Result: some(AVSResult{StreetAddress: r.AVSStreet, PostalCode: r.AVSPostalCode}),
		}),
	}
}

// some returns nil for a value without any field.
func some[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
