package payments_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
	"payledger/processorsim/adapter"
)

// oddBooks are processors whose list of a payment's operations is changed by odd.
type oddBooks struct {
	*adapter.Adapter
	odd func([]processor.Record) ([]processor.Record, error)
}

func (o oddBooks) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error) {
	records, err := o.Adapter.ByReference(ctx, name, reference)
	if err != nil {
		return nil, err
	}
	return o.odd(records)
}

// refusedVoid makes a payment, captures all of it at the processor, and cancels it here. It returns
// the payment, the refused void and the log. told gets the unfit answers.
func (r *rig) refusedVoid(told *commandstest.Logbook, odd func([]processor.Record) ([]processor.Record, error)) (payment.State, payment.Operation, *commandstest.Logbook) {
	r.T.Helper()
	known, log := &atomic.Bool{}, &commandstest.Logbook{}
	known.Store(true)
	s := r.InboxService(known, func(c *commands.Config) {
		c.Processors, c.Logger = oddBooks{r.Sim, odd}, zerolog.New(log)
		c.Unfit = func(name processor.Name, why string) { _, _ = fmt.Fprintf(told, "%s: %s\n", name, why) }
	})
	p := r.Pay(s, commandstest.ApprovedCard)
	if _, err := r.Sim.Act(background, processor.Capture, p.ID, nil); err != nil {
		r.T.Fatal(err)
	}
	if _, err := s.Cancel(background, r.By, p.ID, payment.Cancel{}); err != nil && domain.ReasonOf(err) != domain.ReasonInvalidPaymentStatus {
		r.T.Fatal(err)
	}
	p = r.Payment(p.ID)
	for _, op := range p.Operations {
		if op.Kind == processor.Void {
			return p, op, log
		}
	}
	r.T.Fatalf("no void: %+v", p)
	return p, payment.Operation{}, log
}

// TestUnreadableBooks checks that a refused operation gets its outcome, although the processor's
// books cannot be read in whole or in part. Each readable entry is a fact (§6.3).
func TestUnreadableBooks(t *testing.T) {
	t.Parallel()
	unreadable := fmt.Errorf("%w: operation 3: its kind is not known", processor.ErrUnreadable)
	for name, c := range map[string]struct {
		odd   func([]processor.Record) ([]processor.Record, error)
		found bool
	}{
		"a part": {func(all []processor.Record) ([]processor.Record, error) { return all, unreadable }, true},
		"the refused operation": {func(all []processor.Record) ([]processor.Record, error) {
			return slices.DeleteFunc(all, func(r processor.Record) bool { return r.Kind != processor.Void }), unreadable
		}, false},
		"nothing": {func([]processor.Record) ([]processor.Record, error) { return nil, unreadable }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p, void, log := r.refusedVoid(&commandstest.Logbook{}, c.odd)
			if void.State != payment.StateFailed || (p.Captured() == 2500) != c.found {
				t.Errorf("the void is %s, %d captured", void.State, p.Captured())
			}
			if !log.Has(`"level":"warn"`, string(p.ID), "its kind is not known") {
				t.Error("it is not warned of")
			}
			s := r.Service(nil)
			if c.found {
				r.Audit(p.ID)
			} else if _, err := s.Capture(background, r.By, p.ID, payment.Capture{Final: true}); err != nil {
				t.Errorf("the payment takes no further operation: %v", err)
			}
		})
	}
}

// TestNotificationWithoutBooks checks that the notification of a refusal stays pending while the
// processor does not list its operations for the payment: until then the refusal's cause is not
// known (§6.3, D14.14).
func TestNotificationWithoutBooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known, down := &atomic.Bool{}, &atomic.Bool{}
	known.Store(true)
	s := r.InboxService(known, func(c *commands.Config) {
		c.Processors = oddBooks{r.Sim, func(all []processor.Record) ([]processor.Record, error) {
			if down.Load() {
				return nil, processor.ErrUnknown
			}
			return all, nil
		}}
	})
	p := r.Pay(s, "4000000000005142")
	p, err := s.Capture(background, r.By, p.ID, payment.Capture{Final: true})
	commandstest.HasStatus(t, p, err, payment.StatusSettling)
	down.Store(true)
	r.Settle()
	capture := p.Operations[1]
	refusal := commandstest.ResultOf("nt_1", p.ID, fmt.Sprint(capture.Revision), processor.Capture, processor.Failed, capture.TransactionID)
	if err := s.Notify(background, "request", refusal); err != nil {
		t.Fatal(err)
	}
	if why, waiting := r.Refusals(p.ID), r.Inbox(p.ID).Waiting(); len(why) != 0 || len(waiting) != 1 {
		t.Errorf("rejected %v, pending %v", why, waiting)
	}
	down.Store(false)
	if err := s.ApplyPendingNotifications(background, p.ID); err != nil {
		t.Error(err)
	}
	if op := r.Payment(p.ID).Operations[1]; op.State != payment.StateFailed || len(r.Inbox(p.ID).Waiting()) != 0 || len(r.Refusals(p.ID)) != 0 {
		t.Errorf("the capture is %s, rejected %v", op.State, r.Refusals(p.ID))
	}
	r.Audit(p.ID)
}

// TestForeignBooks: an operation in the books that is of another currency or merchant account, or
// contradicts its own answer, is no fact about the payment, and is warned of (§6.3). A
// contradiction also counts as an unfit answer.
func TestForeignBooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*processor.Record)
		unfit  string // "": it is only another one's
	}{
		"currency":           {func(r *processor.Record) { r.Currency, r.Answer.Currency = "JPY", "JPY" }, ""},
		"processor":          {func(r *processor.Record) { r.Processor = processor.Stripe }, ""},
		"merchant account":   {func(r *processor.Record) { r.MerchantID = "other" }, ""},
		"answer's state":     {func(r *processor.Record) { r.Answer.State = processor.Failed }, "its state contradicts its answer"},
		"answer's amount":    {func(r *processor.Record) { r.Answer.Amount = new(domain.Amount(25)) }, "another amount"},
		"answer's currency":  {func(r *processor.Record) { r.Answer.Currency = "JPY" }, "another currency"},
		"answer's payment":   {func(r *processor.Record) { r.Answer.Reference = "01other" }, "another payment"},
		"answer's operation": {func(r *processor.Record) { r.Answer.Kind = processor.Refund }, "another operation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			told := &commandstest.Logbook{}
			p, void, log := r.refusedVoid(told, func(all []processor.Record) ([]processor.Record, error) {
				for i := range all {
					if _, ours := (payment.State{ID: all[i].Reference}).RevisionOf(all[i].Key); !ours {
						c.change(&all[i])
					}
				}
				return all, nil
			})
			if void.State != payment.StateFailed || p.Captured() != 0 || p.Status() != payment.StatusAuthorized {
				t.Errorf("%s, the void is %s, %d captured", p.Status(), void.State, p.Captured())
			}
			if !log.Has(`"level":"warn"`, string(p.ID), "cannot be one of the payment", c.unfit) {
				t.Error("it is not warned of")
			}
			if told.Has("ADYEN: ") != (c.unfit != "") || c.unfit != "" && !told.Has("ADYEN: ", c.unfit) {
				t.Error("it does not count as unfit, or another one does")
			}
		})
	}
}

// TestUnfitBooks: the books have an outcome of a pending capture that states another amount,
// currency or operation than was requested. It never becomes money, and operators learn of it; an
// entry that fits is a fact.
func TestUnfitBooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*processor.Record)
		why    string // "": it fits
	}{
		"fits":              {func(*processor.Record) {}, ""},
		"answer's amount":   {func(r *processor.Record) { r.Answer.Amount = new(domain.Amount) }, "another amount"},
		"answer's currency": {func(r *processor.Record) { r.Answer.Currency = "JPY" }, "another currency"},
		"amount":            {func(r *processor.Record) { r.Amount = 2501 }, "another amount"},
		"currency":          {func(r *processor.Record) { r.Currency = "JPY" }, "another currency"},
		"operation":         {func(r *processor.Record) { r.Kind = processor.Refund }, "another operation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			known, told := &atomic.Bool{}, &commandstest.Logbook{}
			known.Store(true)
			odd := func(all []processor.Record) ([]processor.Record, error) {
				for i := range all {
					if all[i].Kind == processor.Capture {
						all[i].State, all[i].Answer.State = processor.Succeeded, processor.Succeeded
						c.change(&all[i])
					}
				}
				return all, nil
			}
			s := r.InboxService(known, func(config *commands.Config) {
				config.Processors = oddBooks{r.Sim, odd}
				config.Unfit = func(name processor.Name, why string) { _, _ = fmt.Fprintf(told, "%s: %s\n", name, why) }
			})
			p := r.Pay(s, cardConfirmsLater)
			part := domain.Amount(1000)
			p, err := s.Capture(background, r.By, p.ID, payment.Capture{Amount: &part})
			commandstest.HasStatus(t, p, err, payment.StatusSettling)
			if _, err := s.Cancel(background, r.By, p.ID, payment.Cancel{}); err != nil {
				t.Log(err)
			}
			p = r.Payment(p.ID)
			if fits := c.why == ""; (p.Captured() == part) != fits || !fits && p.Captured() != 0 {
				t.Errorf("%d are captured", p.Captured())
			}
			if c.why != "" && !told.Has("ADYEN: ", string(p.OperationKey(p.Operations[1].Revision)), c.why) {
				t.Error("nobody learns of it")
			}
		})
	}
}

// TestOvertakenAdjustment: the authorization was adjusted at the processor, then here. A refusal
// finds the first adjustment in the books: it is recorded, and the newest total stays (§6.3).
func TestOvertakenAdjustment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known := &atomic.Bool{}
	known.Store(true)
	s := r.InboxService(known, func(c *commands.Config) {
		c.Processors = oddBooks{r.Sim, func(all []processor.Record) ([]processor.Record, error) {
			at := slices.IndexFunc(all, func(r processor.Record) bool { return r.Kind == processor.Adjust })
			if at < 0 {
				return all, nil
			}
			earlier := all[at]
			earlier.ID, earlier.Key, earlier.Amount = "op-earlier", "elsewhere.1", 2700
			earlier.Answer.Amount = &earlier.Amount
			return slices.Insert(all, at, earlier), nil
		}}
	})
	p := r.Pay(s, "4000000000005159") // cancels fail
	p, err := s.Adjust(background, r.By, p.ID, payment.Adjust{Amount: 3000})
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	if p, err = s.Cancel(background, r.By, p.ID, payment.Cancel{}); err != nil || !p.VoidRefused() {
		t.Fatalf("%+v %v", p, err)
	}
	adjusted := 0
	for _, op := range p.Operations {
		if op.Kind == processor.Adjust {
			adjusted++
		}
	}
	if p.Amount != 3000 || adjusted != 2 {
		t.Errorf("the total is %d after %d adjustments", p.Amount, adjusted)
	}
}

// TestOvertakenMeanwhile: the authorization was adjusted twice at the processor. Another node
// records the second adjustment after this node has read the payment, before or after this node
// lists the operations. The first adjustment does not replace its total (§6.3).
func TestOvertakenMeanwhile(t *testing.T) {
	t.Parallel()
	for name, listed := range map[string]bool{"before the list": true, "after the list": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newCluster(t)
			known, meanwhile := &atomic.Bool{}, &sync.Once{}
			known.Store(true)
			s := r.InboxService(known, func(c *commands.Config) {
				c.Processors = oddBooks{r.Sim, func(all []processor.Record) ([]processor.Record, error) {
					first, second := adjustedElsewhere(all[0], 1, 2700), adjustedElsewhere(all[0], 2, 3000)
					list := append(slices.Clone(all), first, second)
					meanwhile.Do(func() {
						r.found(second)
						if !listed {
							list = list[:len(list)-1]
						}
					})
					return list, nil
				}}
			})
			p := r.Pay(s, "4000000000005159") // cancels fail
			p, err := s.Cancel(background, r.By, p.ID, payment.Cancel{})
			if err != nil || !p.VoidRefused() {
				t.Fatalf("%+v %v", p, err)
			}
			found := 0
			for _, op := range p.Operations {
				if op.OutOfBandID != "" {
					found++
				}
			}
			if p.Amount != 3000 || found != 2 {
				t.Errorf("the total is %d after %d adjustments", p.Amount, found)
			}
		})
	}
}

// adjustedElsewhere is the record of an adjustment that was made at the processor, with a number.
func adjustedElsewhere(of processor.Record, number int, total domain.Amount) processor.Record {
	return processor.Record{
		ID: fmt.Sprintf("op-elsewhere-%d", number), Processor: of.Processor, MerchantID: of.MerchantID, Reference: of.Reference, Kind: processor.Adjust,
		Key: domain.OperationKey(fmt.Sprintf("elsewhere.%d", number)), Amount: total, Currency: of.Currency, State: processor.Succeeded,
		CreatedAt: of.CreatedAt, UpdatedAt: of.UpdatedAt, Answer: processor.Answer{State: processor.Succeeded, At: of.UpdatedAt},
	}
}

// found records an out-of-band operation as another node does.
func (r *rig) found(record processor.Record) {
	r.T.Helper()
	meta, err := r.Store.NewMeta("test", "request")
	if err != nil {
		r.T.Fatal(err)
	}
	_, err = eventstore.NewRepositories(r.Store).Payments.Execute(background, r.By.Account, record.Reference, meta,
		func(s payment.State) (payment.Event, error) {
			return payment.DecideOutOfBand(s, payment.RecordOutOfBand{At: meta.At, EventID: meta.EventID, Record: record})
		})
	if err != nil {
		r.T.Error(err)
	}
}
