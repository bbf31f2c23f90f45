package simulator

import (
	"net/http"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// testCards are numbers of D13's table.
var testCards = map[protocol.TestCase]string{
	protocol.CardApproved:       "4242424242424242",
	protocol.CardDeclined:       "4000000000000002",
	protocol.CardRejected:       "4000000000000010",
	protocol.CardAuthentication: "4916994064252017",
	protocol.CardPending:        "4000000000003220",
	protocol.CardCaptureFails:   "4000000000005142",
	protocol.CardCapturePending: "4000000000005175",
	protocol.CardRefundFails:    "4000000000005126",
	protocol.CardVoidFails:      "4000000000005159",
	protocol.CardDisputed:       "4000000000000259",
}

// declaration is that of each processor: the simulated ones can do everything.
func declaration(name processor.Name) protocol.Declaration {
	return protocol.Declaration{
		Protocol: protocol.Version, Processor: name, Connector: "payledger simulator", Cannot: []protocol.Lack{}, TestCards: testCards,
	}
}

func (s *Simulator) getDeclaration(w http.ResponseWriter, r *http.Request) error {
	name, _, err := target(r)
	if err != nil {
		return err
	}
	return respond(w, declaration(name), nil)
}
