package main

import "testing"

// checkoutCase is something that customers do on the hosted page. The short ones hold every kind of check at least once.
type checkoutCase struct {
	name  string
	short bool
	play  func(till, *testing.T)
}

var checkoutCases = []checkoutCase{
	{"silent processor", true, till.testSilent},
	{"expired", true, till.testExpired},
	{"pay", true, till.testPay},
	{"keyboard", true, till.testKeyboard},
	{"decline and retry", true, till.testDecline},
	{"challenge passed", true, till.testChallengePassed},
	{"challenge failed", false, till.testChallengeFailed},
	{"pending", true, till.testPending},
	{"click storm", true, till.testClickStorm},
	{"lost answer", true, till.testLostAnswer},
	{"no network", true, till.testNoNetwork},
	{"another tab", false, till.testAnotherTab},
	{"return", true, till.testReturn},
	{"cancelled", true, till.testCancelled},
	{"unclear", true, till.testUnclear},
	{"amount changed", true, till.testAmountChanged},
	{"amount changed while it was asked", false, till.testAmountChangedUnseen},

	{"form: amounts", false, till.testAmounts},
	{"form: cards", true, till.testCards},
	{"form: typing", false, till.testTyping},
	{"form: mistakes", true, till.testMistakes},
	{"form: token", true, till.testToken},
	{"form: broken links", false, till.testBrokenLinks},

	{"manual: approved", true, till.testApproved},
	{"manual: approved with a challenge", false, till.testApprovedWithChallenge},
	{"manual: aborted, then another card", false, till.testAborted},
	{"manual: approved and declined, then another card", false, till.testApprovedAndDeclined},
	{"manual: lost answer", false, till.testLostAttempt},
	{"manual: amount changed", false, till.testAmountChangedManual},

	{"saved cards", true, till.testSaved},
	{"shop", true, till.testShop},
	{"shop: receipt fills in", false, till.testReceiptFillsIn},
}

// TestCheckout: customers pay on the hosted page, in a real browser, against the whole service (D12); all at once, each
// in a browser context of its own.
func TestCheckout(t *testing.T) {
	t.Parallel()
	b, found := startBrowser(t)
	if !found {
		return
	}
	s := b.openTill(t, func(*Options) {})
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
