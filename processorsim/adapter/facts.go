package adapter

import (
	"payledger/domain"
	"payledger/domain/processor"
)

// known returns a test for the values of an enumeration of the contract.
func known(enumeration string) func(string) bool {
	values := map[string]bool{}
	for _, value := range domain.Enum(enumeration) {
		values[value] = true
	}
	return func(value string) bool { return values[value] }
}

var (
	isNetwork, isCountry, isCheck = known("disputeNetwork"), known("countryCode"), known("cvvAndAvsResult")
	isRegional, isNumber          = known("regionalRestriction"), known("accountNumberType")
	isFunding, isReloadable       = known("accountFundingType"), known("prepaidReloadableIndicator")
	isUsage, isThreeDS            = known("productUsageType"), known("threeDSecureResponseCode")
	isFraudPre, isFraudPost       = known("fraudPreAuthorizationResult"), known("fraudPostAuthorizationResult")
)

// withoutOddFacts drops facts about the card and results of checks that are not in the contract's
// enumerations: merchants' programs know only those. They say nothing about money, so that the rest
// of the answer counts. It changes what the answer points to.
func withoutOddFacts(a processor.Answer) processor.Answer {
	keep(&a.ThreeDS, isThreeDS)
	if bin := a.Bin; bin != nil {
		keep(&bin.Network, isNetwork)
		keep(&bin.IssuerCountryCode, isCountry)
		keep(&bin.RegionalRestriction, isRegional)
		keep(&bin.AccountNumberType, isNumber)
		keep(&bin.AccountFundingType, isFunding)
		keep(&bin.PrepaidReloadableIndicator, isReloadable)
		keep(&bin.ProductUsageType, isUsage)
	}
	if risk := a.Risk; risk != nil {
		keep(&risk.FraudPre, isFraudPre)
		keep(&risk.FraudPost, isFraudPost)
		keep(&risk.CVVResult, isCheck)
		keep(&risk.AVSStreet, isCheck)
		keep(&risk.AVSPostalCode, isCheck)
	}
	return a
}

func keep[T ~string](value *T, is func(string) bool) {
	if !is(string(*value)) {
		*value = ""
	}
}
