//go:build system

package kills

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// disputeWays are ways through the table of D16, each as far as it leads.
var disputeWays = []string{
	"RETRIEVAL OPEN, RETRIEVAL CHALLENGED, DISPUTE OPEN, DISPUTE CHALLENGED, DISPUTE LOST, PREARBITRATION OPEN, PREARBITRATION CHALLENGED, PREARBITRATION WON",
	"RETRIEVAL OPEN, RETRIEVAL CANCELLED",
	"RETRIEVAL OPEN, RETRIEVAL EXPIRED, DISPUTE OPEN, DISPUTE ACCEPTED",
	"DISPUTE OPEN, DISPUTE CHALLENGED, DISPUTE WON",
	"DISPUTE OPEN, DISPUTE CHALLENGED, PREARBITRATION OPEN, PREARBITRATION EXPIRED",
	"PREARBITRATION OPEN, PREARBITRATION CHALLENGED, PREARBITRATION LOST",
}

// dispute opens a payment's dispute and makes some changes. The processor refuses the dispute of a
// payment that was never approved.
func (r *reconciling) dispute(id string, random *rand.Rand) {
	way := strings.Split(disputeWays[random.IntN(len(disputeWays))], ", ")
	opens, _, _ := strings.Cut(way[0], " ")
	now, err := r.app.Processors.Control().OpenDispute(context.Background(), protocol.DisputeOrder{
		Reference: domain.PaymentID(id), Type: processor.DisputeType(opens), ReasonCode: "13.1",
	})
	if err != nil {
		return
	}
	for _, place := range way[1 : 1+random.IntN(len(way))] {
		typ, status, _ := strings.Cut(place, " ")
		change := protocol.DisputeChange{Type: processor.DisputeType(typ), Status: processor.DisputeStatus(status)}
		if now, err = r.app.Processors.Control().ChangeDispute(context.Background(), now.ID, change); err != nil {
			r.Errorf("change of %s to %s: %v", now.ID, place, err)
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disputes = append(r.disputes, now)
}

// settleDisputes waits until every dispute has its processor's state, whether its notifications
// came or were lost.
func (r *reconciling) settleDisputes() {
	r.Helper()
	began := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for left := r.disputes; ; <-tick.C {
		var open []protocol.Dispute
		for _, d := range left {
			if !r.equals(d) {
				open = append(open, d)
			}
		}
		if left = open; len(left) == 0 {
			r.Logf("%d disputes are what their processors say, %s later", len(r.disputes), time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > reconciledSettles {
			r.Fatalf("%d disputes are not what their processors say, so %+v", len(left), left[0])
		}
	}
}

// equals reads a dispute over the management API and compares everything that both sides have.
func (r *reconciling) equals(d protocol.Dispute) bool {
	r.Helper()
	var page struct {
		Data []struct {
			Type, Status, PaymentID, ProcessorDisputeID, TransactionID, ReasonCode, Currency, ChallengeRequiredBy string
			Amount                                                                                                int64
		}
	}
	r.merchant.Must(r.T, "GET", "/management/disputes?processorDisputeId="+d.ID, r.merchant.Headers(), nil).Decode(r.T, &page)
	if len(page.Data) != 1 {
		return false
	}
	got := page.Data[0]
	if got.PaymentID != string(d.Reference) || got.Amount != int64(d.Amount) || got.Currency != string(d.Currency) || got.ReasonCode != d.ReasonCode {
		r.Fatalf("of %+v GET shows %+v", d, got)
	}
	return got.Type == string(d.Type) && got.Status == string(d.Status)
}

// ofDispute changes a processor's record of a dispute.
func ofDispute(edit func(dispute map[string]any)) falsification {
	return func(record map[string]any) (string, string, bool) {
		telling, is := record["telling"].(map[string]any)
		if !is {
			return "", "", false
		}
		d := telling["dispute"].(map[string]any)
		name, id := d["processor"].(string), d["id"].(string)
		edit(d)
		return name, id, true
	}
}

const noDispute = "dp_00000000000000000000000000"

var (
	disputedMore  = ofDispute(func(d map[string]any) { d["amount"] = json.Number("1" + d["amount"].(json.Number).String()) })
	disputedOther = ofDispute(func(d map[string]any) { d["status"] = "EXPIRED" })
	// disputedElsewhere makes it a notification about another dispute: it is missing there of the
	// one, and here of the other. Its time is long ago, so that it is not too fresh to judge.
	disputedElsewhere = ofDispute(func(d map[string]any) { d["id"], d["updatedAt"] = noDispute, "2020-01-01T00:00:00Z" })
)
