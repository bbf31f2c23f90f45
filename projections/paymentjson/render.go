package paymentjson

import (
	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

const (
	cardTokenPAN      = "CARD_PAN" // enums: cardTokenType
	transactionSale   = "SALE"     // enums: transactionType
	transactionRefund = "REFUND"
)

// asking is the message of a status reason while the outcome is not known (D8).
const asking = "The processor has not answered in time; it is being asked for the outcome."

// Options say for whom a Payment JSON is.
type Options struct {
	Events       bool   // expand=transactions.events
	First6Digits bool   // the account opted in to first6Digits (§2.2)
	Webhook      bool   // without order and requiredAction, transactions with transactionType only (D17)
	ActionToken  string // clientToken of a required action; "" leaves it out
}

// Render gives the Payment JSON of a state. p is the state's personal data, opened; erased data is
// empty and its fields are left out. It is a pure function: the same state always renders the same. The
// result shares order, metadata and addresses with its arguments.
func Render(s payment.State, p domain.Personal, o Options) Payment {
	out := Payment{
		ID: s.ID, Date: Time{s.CreatedAt}, DateUpdated: Time{s.UpdatedAt},
		Status: s.Status(), StatusReason: renderReason(s.StatusReason()),
		OrderID: s.OrderID, CustomerID: s.CustomerID, CurrencyCode: s.Currency, Amount: s.Amount,
		CardTokenType: cardTokenType(s), PaymentMethod: renderMethod(s, p.CardholderName, o),
		Processor: renderProcessor(s), Transactions: renderTransactions(s, o),
		Customer: RenderCustomer(p.Customer), Metadata: s.Metadata, RiskData: renderRisk(s.Risk),
	}
	if !o.Webhook {
		out.Order, out.RequiredAction = s.Details().Order, RenderAction(s.RequiredAction(), o.ActionToken)
	}
	return out
}

// actionDescriptions say what an action is, for people (enums: requiredActionName).
var actionDescriptions = map[string]string{
	"3DS_AUTHENTICATION": "The customer must complete a 3-D Secure authentication.",
}

// RenderAction shows a required action with the client token that starts it (D6); nil for none.
func RenderAction(a *payment.RequiredAction, token string) *RequiredAction {
	if a == nil {
		return nil
	}
	return &RequiredAction{Name: a.Name, Description: actionDescriptions[a.Name], ClientToken: token}
}

// cardTokenType is on card payments only (§2.1); the card's own number is what goes to the processor.
func cardTokenType(s payment.State) string {
	if s.Method.Type != instrument.MethodCard {
		return ""
	}
	return cardTokenPAN
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
		out.Message = domain.FirstNonEmpty(out.Message, asking)
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
	if wishes := s.Details().Preferences; wishes != nil {
		out.OrderedAllowedCardNetworks, out.Options = wishes.AllowedNetworks, wishes.Options
	}
	if s.ThreeDS != "" {
		out.ThreeDSecureAuthentication = &ThreeDSecure{ResponseCode: s.ThreeDS}
	}
	return out
}

// RenderCard shows a card as far as it may be shown (§2.2): told is what the processor said of its leading
// digits, first6Digits whether the account opted in to them.
func RenderCard(c domain.Card, told *processor.BinData, cardholder string, first6Digits bool) CardData {
	out := CardData{
		FirstDigits: c.FirstDigits, Last4Digits: c.Last4Digits,
		ExpirationMonth: c.ExpirationMonth, ExpirationYear: c.ExpirationYear,
		CardholderName: cardholder, Network: c.Network, CVVAvailable: c.CVVAvailable,
		BinData: renderBin(c, told),
	}
	if first6Digits && c.First6Digits != "" {
		out.First6Digits = &c.First6Digits
	}
	return out
}

// renderBin lays what the processor told over what the number's prefix tells (D6: binData comes from the
// processor's answer).
func renderBin(c domain.Card, told *processor.BinData) processor.BinData {
	var bin processor.BinData
	if told != nil {
		bin = *told
	}
	bin.Network = domain.FirstNonEmpty(bin.Network, c.Network)
	return bin
}

// renderProcessor names the processor of the newest try; there is one from the first request on. Its amounts
// are those that it has confirmed (D6).
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

// RenderCustomer shows a customer, with the e-mail address in both spellings (D4).
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
	out := &RiskData{}
	if r.FraudSource != "" || r.FraudPre != "" || r.FraudPost != "" {
		out.FraudChecks = &FraudChecks{
			Source: r.FraudSource, PreAuthorizationResult: r.FraudPre, PostAuthorizationResult: r.FraudPost,
		}
	}
	if r.CVVSource != "" || r.CVVResult != "" {
		out.CVVCheck = &CVVCheck{Source: r.CVVSource, Result: r.CVVResult}
	}
	if r.AVSSource != "" || r.AVSStreet != "" || r.AVSPostalCode != "" {
		out.AVSCheck = &AVSCheck{Source: r.AVSSource}
		if r.AVSStreet != "" || r.AVSPostalCode != "" {
			out.AVSCheck.Result = &AVSResult{StreetAddress: r.AVSStreet, PostalCode: r.AVSPostalCode}
		}
	}
	return out
}
