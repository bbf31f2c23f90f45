package books

import (
	"payledger/domain"
	"payledger/domain/processor"
)

type behaviour int

const (
	approves            behaviour = iota
	declines                      // the issuer says no
	gatewayRejects                // FAILED, GATEWAY_REJECTED
	challenges                    // ACTION_REQUIRED, then complete
	asyncAuthorize                // PENDING, approved after asyncDelay
	neverAnswers                  // committed; the request gets no answer
	refundFails                   // every refund: PENDING, FAILED after asyncDelay
	captureFails                  // every capture: PENDING, FAILED after asyncDelay
	voidFails                     // every void refused
	asyncCapture                  // every capture: PENDING, confirmed after asyncDelay
	firstProcessorFails           // technical error at the first processor, approved at a later one
	disputed                      // a dispute opens disputeDelay after settlement
	forgetsToken                  // approved; its tokens are refused
	networkToken                  // approved with a token of the card scheme
)

// card is a row of D13's table. The books keep its name; the number stays here.
type card struct {
	number    string
	name      string
	behaviour behaviour
	code      string // declines: the raw code (D13)
	message   string
	threeDS   string // of a frictionless authentication
	bin       processor.BinData
}

// cards is D13's table. Numbers are the well-known test numbers; no real account has one of them.
var cards = []card{
	{number: "4111111111111111", name: "visa-1", bin: bin("VISA", "US", "CREDIT", "F", "Visa Classic")},
	{number: "4242424242424242", name: "visa-2", bin: bin("VISA", "GB", "CREDIT", "N", "Visa Platinum")},
	{number: "5252525252525258", name: "mastercard-1", bin: bin("MASTERCARD", "FR", "CREDIT", "MCS", "Mastercard Standard")},
	{number: "5555555555554444", name: "mastercard-2", bin: bin("MASTERCARD", "US", "DEBIT", "MDS", "Debit Mastercard")},
	{number: "4035500000000000", name: "visa-3", bin: bin("VISA", "FR", "DEBIT", "F", "Visa Debit")},
	{number: "5132000000000000", name: "mastercard-3", bin: bin("MASTERCARD", "DE", "CREDIT", "MCG", "Mastercard Gold")},
	{number: "4970000000000008", name: "visa-4", bin: bin("VISA", "FR", "DEBIT", "F", "Visa Classic Debit")},
	{number: "378282246310005", name: "amex-1", bin: bin("AMEX", "US", "CHARGE", "AXP", "American Express Green")},
	{number: "6011111111111117", name: "discover-1", bin: bin("DISCOVER", "US", "CREDIT", "DIS", "Discover it")},
	{number: "3530111333300000", name: "jcb-1", bin: bin("JCB", "JP", "CREDIT", "JCB", "JCB Standard")},

	{number: "4000000000000002", name: "visa-do-not-honor", behaviour: declines, code: "05", message: "do not honor", bin: visa},
	{number: "5100000000000008", name: "mastercard-do-not-honor", behaviour: declines, code: "05", message: "do not honor", bin: mastercard},
	{number: "4000000000009995", name: "visa-insufficient-funds", behaviour: declines, code: "51", message: "insufficient funds", bin: visa},
	{number: "4000000000009987", name: "visa-lost", behaviour: declines, code: "41", message: "lost card", bin: visa},
	{number: "4000000000000069", name: "visa-expired", behaviour: declines, code: "54", message: "expired card", bin: visa},
	{number: "4000000000000010", name: "visa-gateway-rejected", behaviour: gatewayRejects, message: "blocked by a risk rule", bin: visa},
	{number: "5100000000000016", name: "mastercard-gateway-rejected", behaviour: gatewayRejects, message: "blocked by a risk rule", bin: mastercard},

	{number: "4916994064252017", name: "visa-challenge", behaviour: challenges, bin: visa},
	{number: "5306889942833340", name: "mastercard-challenge", behaviour: challenges, bin: mastercard},
	{number: "4929251897047956", name: "visa-frictionless", threeDS: "AUTH_SUCCESS", bin: visa},
	{number: "5512459816707531", name: "mastercard-frictionless", threeDS: "AUTH_SUCCESS", bin: mastercard},
	{number: "4716429323842524", name: "visa-frictionless-failed", behaviour: declines, code: "1A", message: "authentication failed", threeDS: "AUTH_FAILED", bin: visa},
	{number: "5487971631330522", name: "mastercard-frictionless-failed", behaviour: declines, code: "1A", message: "authentication failed", threeDS: "AUTH_FAILED", bin: mastercard},

	{number: "4000000000003220", name: "visa-async-authorize", behaviour: asyncAuthorize, bin: visa},
	{number: "4000000000006470", name: "visa-never-answers", behaviour: neverAnswers, bin: visa},
	{number: "4000000000000259", name: "visa-disputed", behaviour: disputed, bin: visa},
	{number: "4000000000005126", name: "visa-refund-fails", behaviour: refundFails, bin: visa},
	{number: "4000000000005142", name: "visa-capture-fails", behaviour: captureFails, bin: visa},
	{number: "4000000000005159", name: "visa-void-fails", behaviour: voidFails, bin: visa},
	{number: "4000000000005175", name: "visa-async-capture", behaviour: asyncCapture, bin: visa},
	{number: "4000000000005266", name: "visa-first-processor-fails", behaviour: firstProcessorFails, bin: visa},
	{number: "4000000000005340", name: "visa-forgets-token", behaviour: forgetsToken, bin: visa},
	{number: "4000000000005423", name: "visa-network-token", behaviour: networkToken, bin: tokenized(visa)},
}

var (
	visa       = bin("VISA", "US", "CREDIT", "F", "Visa Classic")
	mastercard = bin("MASTERCARD", "US", "CREDIT", "MCS", "Mastercard Standard")
)

var cardsByNumber, cardsByName = indexCards()

func indexCards() (byNumber, byName map[string]*card) {
	byNumber, byName = map[string]*card{}, map[string]*card{}
	for i := range cards {
		byNumber[cards[i].number], byName[cards[i].name] = &cards[i], &cards[i]
	}
	return byNumber, byName
}

var issuers = map[string]string{
	"US": "Simulated Bank of America", "GB": "Simulated Bank of Britain", "FR": "Banque simulée de France",
	"DE": "Simulierte Bank", "JP": "Simulated Bank of Japan",
}

// bin fills binData (§2.2) from what differs between the cards.
func bin(network domain.Network, country, funding, code, name string) processor.BinData {
	return processor.BinData{
		Network: network, IssuerCountryCode: country, IssuerName: issuers[country], RegionalRestriction: "NONE",
		AccountNumberType: "PRIMARY_ACCOUNT_NUMBER", AccountFundingType: funding,
		PrepaidReloadableIndicator: "NOT_APPLICABLE", ProductUsageType: "CONSUMER", ProductCode: code, ProductName: name,
	}
}

// tokenized returns the bin data of a card that is charged with a token of its scheme.
func tokenized(of processor.BinData) processor.BinData {
	of.AccountNumberType = "NETWORK_TOKEN"
	return of
}

// risk returns the results of the processor's checks (§2.4). A CVV of zeros does not match, and is
// approved (D13).
func (c *card) risk(name processor.Name, cvv string) *processor.Risk {
	source := string(name)
	r := &processor.Risk{
		FraudSource: source, FraudPre: "ACCEPT", CVVSource: source, CVVResult: "MATCHED",
		AVSSource: source, AVSStreet: "MATCHED", AVSPostalCode: "MATCHED",
	}
	switch {
	case cvv == "":
		r.CVVResult = "NOT_PROVIDED"
	case cvv == "000" || cvv == "0000" || len(cvv) != c.bin.Network.CVVLength():
		r.CVVResult = "NOT_MATCHED"
	}
	switch {
	case c.behaviour == gatewayRejects:
		r.FraudPre = "REFUSE"
	case c.behaviour == challenges || c.threeDS != "":
		r.FraudPre = "THREE_DS"
	case c.behaviour == declines:
		r.AVSPostalCode = "NOT_MATCHED"
	}
	return r
}
