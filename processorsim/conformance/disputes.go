package conformance

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"payledger/domain/exactjson"
	"payledger/domain/processor"
	"payledger/processorsim/conformance/receiver"
	"payledger/processorsim/protocol"
)

var disputeChecks = []check{
	{
		id:      "dispute",
		promise: "A dispute is notified, signed, with its stage, status, reason code, amount, currency and time; the list of disputes has the same bytes once.",
		meaning: "The merchant misses the deadline for evidence and loses the money.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardDisputed}, can: []protocol.Capability{protocol.CanReportDisputes}, secret: true},
		run:     checkDispute,
	},
	{
		id:      "dispute.list",
		promise: "The list of disputes has every one exactly once, oldest first, whatever the size of its pages; since includes its time.",
		meaning: "A dispute whose notification was lost is never found.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardDisputed}, can: []protocol.Capability{protocol.CanReportDisputes}},
		run:     checkDisputePages,
	},
	{
		id:      "dispute.cursor",
		promise: "A page after the last one is empty and keeps its cursor; a cursor that the list never gave, a wrong time or limit is refused with 400 or 422.",
		meaning: "The ledger reads the list from its beginning for ever, or skips disputes.",
		needs:   needs{can: []protocol.Capability{protocol.CanReportDisputes}},
		run:     checkDisputeCursor,
	},
}

// disputed makes a payment that gets a dispute, and waits until the list has it.
func (p *probe) disputed() protocol.Notification {
	reference := newReference()
	approved := p.authorize(protocol.CardDisputed, 1000)
	approved.Reference = reference
	capture := p.final(p.succeeds(approved), 1000)
	capture.Reference = reference
	p.succeeds(capture)
	p.reference = reference
	var found []json.RawMessage
	p.until("the dispute of a payment in the list", func() bool {
		found = p.disputes(url.Values{"reference": {string(reference)}}).Notifications
		return len(found) > 0
	})
	return p.readDispute(found[0])
}

func (p *probe) readDispute(body json.RawMessage) (n protocol.Notification) {
	if err := exactjson.Unmarshal(body, &n); err != nil || n.ID == "" || n.Type != processor.Dispute {
		p.broken("the list of disputes has an element that is no notification of a dispute")
	}
	return n
}

func (p *probe) disputes(q url.Values) (page protocol.DisputeList) {
	e := p.raw(p.ctx, http.MethodGet, protocol.DisputesPath(p.Processor)+"?"+q.Encode(), "")
	if err := exactjson.Unmarshal(e.raw, &page); e.Status != http.StatusOK || err != nil || page.Notifications == nil {
		p.broken("the list of disputes is answered with %d, or cannot be read: %v", e.Status, err)
	}
	return page
}

func checkDispute(p *probe) {
	listed := p.disputed()
	came := p.disputeNotified()
	n := p.notification(came)
	if n.Dispute == nil || n.ID != listed.ID {
		p.broken("the notification has the id %q, the list %q", n.ID, listed.ID)
	}
	if n.Dispute.Amount != 1000 || n.Dispute.Currency != "EUR" {
		p.broken("the dispute is about %d %s, want 1000 EUR", n.Dispute.Amount, n.Dispute.Currency)
	}
	all := p.disputes(url.Values{"reference": {string(p.reference)}}).Notifications
	if len(all) != 1 || !sameJSON(all[0], came.Body) {
		p.broken("the list has %d notifications about the payment, or another body: %s", len(all), came.Body)
	}
	page, err := p.client.NotificationsSince(p.ctx, p.Processor, n.Dispute.At, "")
	if err != nil {
		p.broken("the list since the dispute's time cannot be read: %v", err)
	}
	has := func(s processor.SignedNotification) bool { return s.ID == n.ID }
	for !slices.ContainsFunc(page.Notifications, has) && page.More {
		if page, err = p.client.NotificationsSince(p.ctx, p.Processor, time.Time{}, page.Next); err != nil {
			p.broken("the list cannot be read: %v", err)
		}
	}
	if !slices.ContainsFunc(page.Notifications, has) {
		p.broken("the list since the dispute's time does not have the dispute")
	}
}

// disputeNotified waits for the first notification of a dispute of the probe's payment. Results of
// pending operations may come before it.
func (p *probe) disputeNotified() receiver.Delivery {
	for n := 1; ; n++ {
		came := p.notified(n)
		for _, d := range came[n-1:] {
			if p.notification(d).Kind == processor.Dispute {
				return d
			}
			n++
		}
		n--
	}
}

// sameJSON reports whether two texts are the same value.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && encoded(x) == encoded(y)
}

// maxPages bounds the pages that a check reads.
const maxPages = 200

// pages reads the list since a time, or after a cursor, and returns the ids.
func (p *probe) pages(q url.Values, limit int) (ids []string) {
	q = url.Values{"since": q["since"], "after": q["after"], "limit": {strconv.Itoa(limit)}}
	for range maxPages {
		for name := range q {
			if len(q[name]) == 0 {
				delete(q, name)
			}
		}
		page := p.disputes(q)
		if len(page.Notifications) > limit {
			p.broken("a page of at most %d has %d notifications", limit, len(page.Notifications))
		}
		for _, body := range page.Notifications {
			ids = append(ids, p.readDispute(body).ID)
		}
		if !page.More {
			return ids
		}
		if page.Next == "" || len(page.Notifications) == 0 {
			p.broken("a page that is not the last has no cursor, or no notification")
		}
		q = url.Values{"after": {page.Next}, "limit": q["limit"]}
	}
	p.broken("the list has more than %d pages of %d", maxPages, limit)
	return nil
}

func checkDisputePages(p *probe) {
	made := []string{}
	first := p.disputed()
	since := p.timeOf(first)
	for _, n := range []protocol.Notification{first, p.disputed(), p.disputed(), p.disputed()} {
		made = append(made, n.ID)
	}
	all := p.pages(url.Values{"since": {since}}, protocol.MaxDisputePage)
	last := -1
	for _, id := range made {
		at := slices.Index(all, id)
		if at < 0 || slices.Index(all[at+1:], id) >= 0 {
			p.broken("the list since %s has the dispute %q not once", since, id)
		}
		if at < last {
			p.broken("the list is not by age: %q is before an older dispute", id)
		}
		last = at
	}
	for limit := 1; limit <= 3; limit++ {
		if ids := p.pages(url.Values{"since": {since}}, limit); !slices.Equal(ids, all) {
			p.broken("pages of %d have %d disputes, %v; pages of %d have %d, %v", limit, len(ids), ids, protocol.MaxDisputePage, len(all), all)
		}
	}
}

// timeOf returns the time of a listed dispute, as the ledger reads it.
func (p *probe) timeOf(n protocol.Notification) string {
	found, err := p.client.DisputesOf(p.ctx, p.Processor, n.Reference)
	if err != nil || len(found) == 0 {
		p.broken("the disputes of a payment cannot be read: %v", err)
	}
	return found[0].Dispute.At.UTC().Format(time.RFC3339Nano)
}

func checkDisputeCursor(p *probe) {
	future := time.Now().Add(100 * 365 * 24 * time.Hour).UTC().Format(time.RFC3339)
	if page := p.disputes(url.Values{"since": {future}}); len(page.Notifications) != 0 || page.More {
		p.broken("the list since %s has disputes", future)
	}
	page := p.disputes(url.Values{"limit": {"1"}})
	for range maxPages {
		if !page.More {
			break
		}
		page = p.disputes(url.Values{"after": {page.Next}})
	}
	if page.Next != "" {
		after := p.disputes(url.Values{"after": {page.Next}})
		if len(after.Notifications) != 0 || after.More || after.Next != page.Next {
			p.broken("the page after the last has %d notifications, more: %v, and the cursor %q, want %q", len(after.Notifications), after.More, after.Next, page.Next)
		}
	}
	for _, query := range []string{"after=no-such-cursor", "since=yesterday", "limit=0", "limit=31", "limit=x"} {
		e := p.raw(p.ctx, http.MethodGet, protocol.DisputesPath(p.Processor)+"?"+query, "")
		p.error(e, http.StatusBadRequest, http.StatusUnprocessableEntity)
	}
}
