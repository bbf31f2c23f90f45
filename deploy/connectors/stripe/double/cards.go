package double

// fate is what happens to a card, as Stripe publishes it for its test cards.
type fate struct {
	challenge              bool // the customer must act
	code, decline, network string
	blocked                bool   // by Stripe itself
	dispute                bool   // after the capture
	networkToken           bool   // charged with a token of the card scheme
	refund                 string // the status of a refund after Settle; "": it succeeds for good
}

var fates = map[string]fate{
	"4000000000000002": {code: "card_declined", decline: "generic_decline", network: "05"},
	"4000000000009995": {code: "card_declined", decline: "insufficient_funds", network: "51"},
	"4000000000009987": {code: "card_declined", decline: "lost_card", network: "41"},
	"4000000000009979": {code: "card_declined", decline: "stolen_card", network: "43"},
	"4000000000000069": {code: "expired_card", decline: "expired_card", network: "54"},
	"4000000000000127": {code: "incorrect_cvc", decline: "incorrect_cvc", network: "N7"},
	"4000000000000119": {code: "processing_error", decline: "processing_error"},
	"4100000000000019": {code: "card_declined", decline: "fraudulent", blocked: true},
	"4000000000003220": {challenge: true},
	"4000000000005423": {networkToken: true}, // no card of Stripe's: there the account decides
	"4000000000000259": {dispute: true},
	"4000000000007726": {refund: "succeeded"}, // pending first
	"4000000000005126": {refund: "failed"},    // succeeded first
}
