package protocol

import "payledger/domain/processor"

// TestCases lists every test case.
var TestCases = []TestCase{
	CardApproved, CardDeclined, CardRejected, CardAuthentication, CardPending, CardCaptureFails, CardCapturePending, CardRefundFails,
	CardVoidFails, CardDisputed, CardNetworkToken, CardForgotten,
}

// States lists every state of an operation.
var States = []processor.State{
	processor.Pending, processor.ActionRequired, processor.Succeeded, processor.Declined, processor.Failed,
}
