package adapter

import (
	"strings"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// withoutOdd drops what an answer says of tokens of cards, and its facts, if they cannot be used:
// they say nothing about money, so that the rest of the answer counts. The message, which is
// stored, loses the token of the answer, and that of its request.
func withoutOdd(a processor.Answer, sent string) processor.Answer {
	a = withoutOddFacts(a)
	for _, token := range []string{a.CardToken, sent} {
		if token != "" {
			a.Message = strings.ReplaceAll(a.Message, token, removed)
		}
	}
	if !protocol.ValidCardToken(a.CardToken) || a.CardToken == a.ProcessorTransactionID || a.CardToken == a.ProcessorEventID { // these are no secrets
		a.CardToken = ""
	}
	if !a.CardTokenType.Known() {
		a.CardTokenType = ""
	}
	return withoutExcess(a)
}
