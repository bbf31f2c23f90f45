//go:build system && !race

package browser

import (
	"testing"

	"payledger/cmd/payledger/options"
)

// checkoutCase is a case of customers on the hosted page. Small runs have only the short cases.
type checkoutCase struct {
	name  string
	short bool
	play  func(till, *testing.T)
}

var checkoutCases = []checkoutCase{
	{"silent processor", true, till.testSilent},
	{"expired", false, till.testExpired},
	{"pay", true, till.testPay},
	{"keyboard", true, till.testKeyboard},
	{"decline and retry", true, till.testDecline},
	{"challenge passed", true, till.testChallengePassed},
	{"challenge failed", false, till.testChallengeFailed},
	{"pending", false, till.testPending},
	{"click storm", false, till.testClickStorm},
	{"lost answer", true, till.testLostAnswer},
	{"no network", false, till.testNoNetwork},
	{"another tab", false, till.testAnotherTab},
	{"return", false, till.testReturn},
	{"cancelled", false, till.testCancelled},
	{"unclear", false, till.testUnclear},
	{"amount changed", false, till.testAmountChanged},
	{"amount changed while it was asked", false, till.testAmountChangedUnseen},

	{"languages", false, till.testLanguages},
	{"digits of another script", false, till.testDigits},
	{"no funds", false, till.testNoFunds},

	{"form: amounts", false, till.testAmounts},
	{"form: cards", false, till.testCards},
	{"form: typing", false, till.testTyping},
	{"form: mistakes", false, till.testMistakes},
	{"form: test cards", true, till.testTestCards},
	{"form: token", false, till.testToken},
	{"form: broken links", false, till.testBrokenLinks},

	{"manual: approved", true, till.testApproved},
	{"manual: approved with a challenge", false, till.testApprovedWithChallenge},
	{"manual: aborted, then another card", false, till.testAborted},
	{"manual: approved and declined, then another card", false, till.testApprovedAndDeclined},
	{"manual: lost answer", false, till.testLostAttempt},
	{"manual: amount changed", false, till.testAmountChangedManual},
	{"manual: amount changed while it waited", false, till.testAmountChangedWaiting},

	{"saved cards", true, till.testSaved},
	{"shop", true, till.testShop},
	{"shop: receipt fills in", false, till.testReceiptFillsIn},
}

// TestCheckout lets customers pay on the hosted page, in a real browser, against the whole service
// (D12). All cases run at the same time, each in its own browser context.
func TestCheckout(t *testing.T) {
	t.Parallel()
	b, found := startBrowser(t)
	if !found {
		return
	}
	s := b.openTill(t, func(*options.Options) {})
	for _, c := range checkoutCases {
		if testing.Short() && !c.short {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.play(s, t)
		})
	}
}
