package checkout

// TestCard is a card of the sandbox's table (D13) that fills the form at a click.
type TestCard struct {
	Outcome string // of a payment with it
	Number  string
}

// TestCards are the simulator's cards, which the payment page of the sandbox offers.
var TestCards = []TestCard{
	{"Approved", "4111111111111111"},
	{"Approved, Amex", "378282246310005"},
	{"Declined", "4000000000000002"},
	{"No funds", "4000000000009995"},
	{"3-D Secure", "4916994064252017"},
	{"After 2 s", "4000000000003220"},
	{"No answer", "4000000000006470"},
}

// Grouped returns the number as it is printed on the card.
func (c TestCard) Grouped() string {
	if len(c.Number) == 15 {
		return c.Number[:4] + " " + c.Number[4:10] + " " + c.Number[10:]
	}
	return c.Number[:4] + " " + c.Number[4:8] + " " + c.Number[8:12] + " " + c.Number[12:]
}
