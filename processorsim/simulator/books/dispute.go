package books

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator/journal"
)

const (
	// disputeDelay is how long after settlement the disputed card's dispute opens (D13).
	disputeDelay = 2 * time.Second
	// disputeReason is the scheme code of that dispute: fraud, the card not present.
	disputeReason = "10.4"
)

// ErrNoDispute means that there is no dispute of an id.
var ErrNoDispute = errors.New("there is no such dispute")

// challengeDays is how long each stage may be challenged.
var challengeDays = map[processor.DisputeType]int{
	processor.Retrieval: 10, processor.Chargeback: 14, processor.Prearbitration: 7,
}

// Telling is a dispute as it stood when its processor told of it.
type Telling struct {
	ID        string           `json:"id"` // of the notification
	Dispute   protocol.Dispute `json:"dispute"`
	NotifyURL string           `json:"notifyUrl,omitempty"`
	Sale      string           `json:"sale,omitempty"` // the authorization whose settlement opened it (D13)

	notified bool
}

// disputes are the books' memory of disputes: no operations, so no lines (D14).
type disputes struct {
	newest   map[string]*Telling // by dispute id
	told     []*Telling          // all, in order
	about    map[domain.PaymentID][]*Telling
	byID     map[string]*Telling
	due      map[string]Due // by the authorization's operation: the disputed card's, not opened yet
	notGiven []Due          // of those: nobody was told to schedule them
}

func newDisputes() disputes {
	return disputes{
		newest: map[string]*Telling{}, byID: map[string]*Telling{}, about: map[domain.PaymentID][]*Telling{}, due: map[string]Due{},
	}
}

// settles notes that a sale of the disputed card is settled as of at: nothing of it is held or pending any more.
func (b *Books) settles(s *sale, at time.Time) {
	if s.card.behaviour != disputed || s.disputed || s.captured == 0 || s.capturing > 0 || s.rest() > 0 {
		return
	}
	s.disputed = true
	due := Due{ID: s.op.ID, At: at.Add(disputeDelay), After: disputeDelay}
	b.disputes.due[due.ID] = due
	b.disputes.notGiven = append(b.disputes.notGiven, due)
}

// NextDisputes returns the disputes that are to be opened and that no earlier call gave.
func (b *Books) NextDisputes() []Due {
	b.mu.Lock()
	defer b.mu.Unlock()
	given := b.disputes.notGiven
	b.disputes.notGiven = nil
	return given
}

// DueDisputes lists all that are to be opened.
func (b *Books) DueDisputes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id := range b.disputes.due {
		ids = append(ids, id)
	}
	return slices.Sorted(slices.Values(ids))
}

// OpenDue opens the disputes of settled sales, and returns when they are durable. One that is open is left out.
func (b *Books) OpenDue(ids ...string) ([]Telling, error) {
	var opened []Telling
	var commit *journal.Commit
	b.mu.Lock()
	for _, id := range ids {
		if _, due := b.disputes.due[id]; !due {
			continue
		}
		s := b.sales[b.byID[id].Answer.ProcessorTransactionID]
		t, err := b.newDispute(s, protocol.DisputeOrder{Type: processor.Chargeback, ReasonCode: disputeReason})
		if err == nil {
			t.Sale = id
			commit, err = b.write(record{Type: disputedRecord, At: t.Dispute.UpdatedAt, Telling: t})
		}
		if err != nil {
			b.mu.Unlock()
			return nil, err
		}
		opened = append(opened, *t)
	}
	b.mu.Unlock()
	return opened, wait(commit)
}

// OpenDispute opens a dispute of the newest approved authorization of a reference (D14).
func (b *Books) OpenDispute(o protocol.DisputeOrder) (Telling, error) {
	b.mu.Lock()
	s := b.newestSale(o.Reference)
	if s == nil {
		b.mu.Unlock()
		return Telling{}, &Refused{protocol.CodeParentNotFound, "no approved authorization of this reference"}
	}
	t, err := b.newDispute(s, o)
	return b.tell(t, err)
}

// ChangeDispute brings a dispute into another type or status, also an impossible one.
func (b *Books) ChangeDispute(id string, c protocol.DisputeChange) (Telling, error) {
	b.mu.Lock()
	before, known := b.disputes.newest[id]
	if !known {
		b.mu.Unlock()
		return Telling{}, ErrNoDispute
	}
	d, err := b.newDraft()
	t := &Telling{ID: "nt_" + d.id, Dispute: before.Dispute, NotifyURL: b.notifyURL(before.Dispute.Reference)}
	t.Dispute.Status, t.Dispute.UpdatedAt = c.Status, after(before.Dispute.UpdatedAt, d.at)
	if c.Type != "" && c.Type != t.Dispute.Type {
		t.Dispute.Type, t.Dispute.ChallengeRequiredBy = c.Type, challengeBy(c.Type, d.at)
	}
	return b.tell(t, err)
}

// tell writes a telling and returns when it is durable. It is called under mu, and unlocks it.
func (b *Books) tell(t *Telling, err error) (Telling, error) {
	var commit *journal.Commit
	if err == nil {
		commit, err = b.write(record{Type: disputedRecord, At: t.Dispute.UpdatedAt, Telling: t})
	}
	b.mu.Unlock()
	if err != nil {
		return Telling{}, err
	}
	return *t, commit.Wait()
}

// newDispute makes the first telling of a dispute: of the sale's newest capture, else of its authorization (D16).
func (b *Books) newDispute(s *sale, o protocol.DisputeOrder) (*Telling, error) {
	d, err := b.newDraft()
	if err != nil {
		return nil, err
	}
	at := d.at.Truncate(time.Microsecond)
	t := &Telling{ID: "nt_" + d.id, NotifyURL: b.notifyURL(s.op.Reference), Dispute: protocol.Dispute{
		ID: "dp_" + d.id, Processor: s.op.Processor, ProcessorMerchantID: s.op.MerchantID, Reference: s.op.Reference,
		ProcessorTransactionID: s.op.Answer.ProcessorTransactionID, Type: o.Type, Status: processor.DisputeOpen,
		ReasonCode: o.ReasonCode, Amount: s.captured, Currency: s.op.Currency,
		ChallengeRequiredBy: challengeBy(o.Type, at), CreatedAt: at, UpdatedAt: at,
	}}
	for _, op := range b.byReference[s.op.Reference] {
		if c, ok := b.captures[op.Answer.ProcessorTransactionID]; ok && c.sale == s && c.state == processor.Succeeded {
			t.Dispute.ProcessorTransactionID = op.Answer.ProcessorTransactionID
		}
	}
	switch {
	case o.Amount != nil:
		t.Dispute.Amount = *o.Amount
	case s.captured == 0:
		t.Dispute.Amount = s.authorized
	}
	return t, nil
}

// challengeBy is the end of a day.
func challengeBy(stage processor.DisputeType, from time.Time) time.Time {
	day := from.UTC().AddDate(0, 0, challengeDays[stage])
	return time.Date(day.Year(), day.Month(), day.Day(), 23, 59, 59, 0, time.UTC)
}

// after returns now, or the first moment after then if that is later: a dispute's changes have an order.
func after(then, now time.Time) time.Time {
	now = now.Truncate(time.Microsecond)
	if !now.After(then) {
		return then.Add(time.Microsecond)
	}
	return now
}

// notifyURL is where the service was last told about a reference, or asked to be.
func (b *Books) notifyURL(reference domain.PaymentID) string {
	for _, o := range slices.Backward(b.byReference[reference]) {
		if o.NotifyURL != "" {
			return o.NotifyURL
		}
	}
	return ""
}

// foldDisputed adds a telling.
func (b *Books) foldDisputed(t *Telling) error {
	if t == nil || t.ID == "" || !strings.HasPrefix(t.Dispute.ID, "dp_") || b.disputes.byID[t.ID] != nil {
		return fmt.Errorf("disputed record without a telling of its own")
	}
	delete(b.disputes.due, t.Sale)
	b.disputes.notGiven = slices.DeleteFunc(b.disputes.notGiven, func(d Due) bool { return d.ID == t.Sale })
	b.disputes.newest[t.Dispute.ID], b.disputes.byID[t.ID] = t, t
	b.disputes.told = append(b.disputes.told, t)
	b.disputes.about[t.Dispute.Reference] = append(b.disputes.about[t.Dispute.Reference], t)
	return nil
}

// Untold lists the tellings that the service was not notified of, in order: after Open, what is to be sent again.
func (b *Books) Untold() []Telling {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []Telling
	for _, t := range b.disputes.told {
		if !t.notified && t.NotifyURL != "" {
			left = append(left, *t)
		}
	}
	return left
}

// ToldSince returns up to n tellings of a processor, oldest first: after the one with the id after, else from since on.
// false: there is no telling of that id.
func (b *Books) ToldSince(name processor.Name, since time.Time, after string, n int) (page []Telling, more, known bool, err error) {
	b.mu.Lock()
	told, last := b.disputes.told, b.last
	start := 0
	if after != "" {
		start = 1 + slices.IndexFunc(told, func(t *Telling) bool { return t.ID == after })
		known = start > 0
	}
	for _, t := range told[start:] {
		if t.Dispute.Processor != name || after == "" && t.Dispute.UpdatedAt.Before(since) {
			continue
		}
		if len(page) == n {
			more = true
			break
		}
		page = append(page, *t)
	}
	b.mu.Unlock()
	return page, more, after == "" || known, wait(last)
}

// ToldOf returns everything that a processor told about the disputes of a payment, oldest first.
func (b *Books) ToldOf(name processor.Name, reference domain.PaymentID) ([]Telling, error) {
	b.mu.Lock()
	var told []Telling
	for _, t := range b.disputes.about[reference] {
		if t.Dispute.Processor == name {
			told = append(told, *t)
		}
	}
	last := b.last
	b.mu.Unlock()
	return told, wait(last)
}
