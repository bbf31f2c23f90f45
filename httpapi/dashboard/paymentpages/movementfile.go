package paymentpages

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/httpapi/dashboard/frame"
)

// movementColumns are those of the file of movements. It has a row for each capture and refund of a
// time that moved money, and for each step of a dispute that moved money or lost it.
var movementColumns = []string{
	"date_utc", "type", "currency", "amount", "payment_id", "order_id", "operation_id", "processor_operation_id", "processor", "processor_merchant_id", "payment_created_utc",
}

// movementFilters are the parameters of the list's filters that a movement has, too.
var movementFilters = []string{"from_date", "to_date", "currency_code", "processor", "order_id", "customer_id", "sort"}

// moveMoney are the types of the events that movements come from.
var moveMoney = []string{
	payment.Captured{}.Type(), payment.CapturedOutOfBand{}.Type(), payment.Refunded{}.Type(), payment.RefundedOutOfBand{}.Type(),
	dispute.Opened{}.Type(), dispute.Changed{}.Type(), dispute.Noted{}.Type(),
}

const (
	// eventsAtOnce is the greatest number of events in an answer of the API. Each event has its
	// whole payment, and the answer is held in memory.
	eventsAtOnce = 50
	apiEvents    = "/events"
)

// recorded is an event of the log that moved money.
type recorded struct {
	Position        uint64
	ID, AggregateID string
	Time            time.Time
	Revision        uint64
	Event           struct{ ProcessorTransactionID string } // of a capture or a refund
	Payment         *struct {                               // nil: of a dispute
		summary
		Transactions []sale
	}
}

// reading reads the movements of a time, in the order of the log.
type reading struct {
	query  url.Values // of the list
	until  time.Time
	after  uint64    // position of the last event
	since  time.Time // the beginning of the time; the first event's for none
	newest time.Time // time of the last event
	atOnce int       // number of events in an answer: smaller after an answer that was too large
	out    *part     // takes the rows
	more   bool
}

// movedOnly reports whether movements have all filters of a list.
func movedOnly(q url.Values) bool {
	return len(frame.Without(q, movementFilters...)) == 0
}

// exportMovements serves the file of the movements of the filters' days, from the cursor on, in
// parts as exportPayments does. The rows are in the order of the log, however the parts are cut:
// movements of one second may be in another order than their times.
func exportMovements(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	r := reading{query: query(&form)}
	if !form.Sound() || !movedOnly(r.query) {
		return v.Redirect(frame.Address(pathPayments, frame.Without(form.Values, "done")), "")
	}
	first := !r.begin(v.Value("cursor"))
	p := newPart(v, "movements", movementColumns, first)
	r.out, r.atOnce, r.more = p, eventsAtOnce, true
	for begun := false; r.more && !(begun && p.full()); begun = true {
		if err := r.next(v); err != nil {
			return err
		}
	}
	if r.more {
		p.cut(r.cursor())
		v.Writer.Header().Set(headerShare, strconv.FormatFloat(r.share(v.Now()), 'f', 4, 64))
	}
	return p.send()
}

// begin sets the place of a cursor; false: there is none.
func (r *reading) begin(cursor string) bool {
	r.since, _ = time.Parse(time.RFC3339, r.query.Get("from_date")) // the zero time without it
	r.until, _ = time.Parse(time.RFC3339, r.query.Get("to_date"))
	var seconds int64
	if n, _ := fmt.Sscanf(cursor, "%d.%d", &r.after, &seconds); n < 2 {
		r.after = 0
		return false
	}
	r.since = time.Unix(seconds, 0)
	return true
}

func (r *reading) cursor() string { return fmt.Sprintf("%d.%d", r.after, r.since.Unix()) }

// share returns the part of the time that is read.
func (r *reading) share(now time.Time) float64 {
	end := now
	if !r.until.IsZero() && r.until.Before(now) {
		end = r.until
	}
	whole, read := end.Sub(r.since), r.newest.Sub(r.since)
	if whole <= 0 || read <= 0 {
		return 0
	}
	return min(1, read.Seconds()/whole.Seconds())
}

// next adds the rows of further events. It ends after an event if the time of the part is over.
func (r *reading) next(v *frame.Visit) error {
	found, err := r.page(v)
	if err != nil {
		return err
	}
	for i, e := range found.Data {
		if i > 0 && r.out.late() { // each dispute needs calls of its own
			r.more = true
			return nil
		}
		if r.since.IsZero() {
			r.since = e.Time
		}
		r.newest = e.Time
		if err := r.add(v, e); err != nil {
			return err
		}
		r.after = e.Position
	}
	r.after, r.more = found.NextAfter, found.NextAfter > 0
	return nil
}

// eventPage is an answer of the API.
type eventPage struct {
	Data      []recorded
	NextAfter uint64
}

// page reads the next events, as many as the API can answer at once.
func (r *reading) page(v *frame.Visit) (found eventPage, err error) {
	for {
		most := min(r.atOnce, r.out.most-r.out.rows)
		q := frame.Query("after", strconv.FormatUint(r.after, 10), "limit", strconv.Itoa(most), "from", r.query.Get("from_date"), "to", r.query.Get("to_date"))
		q["types"] = moveMoney
		err = v.Get(apiEvents, q, &found)
		if refused, is := errors.AsType[*frame.Failure](err); !is || refused.Status != http.StatusInternalServerError || most == 1 {
			return found, err
		}
		r.atOnce = (most + 9) / 10 // very large payments
	}
}

// add adds the rows of an event's movements that have the filters.
func (r *reading) add(v *frame.Visit, e recorded) error {
	of, all, err := e.movements(v)
	for _, m := range all {
		if r.wants("currency_code", string(m.currency)) && r.wants("processor", string(m.processor)) && r.wants("order_id", of.OrderID) && r.wants("customer_id", of.CustomerID) {
			r.out.add(m.row(of))
		}
	}
	return err
}

func (r *reading) wants(parameter, value string) bool {
	values := r.query[parameter]
	return len(values) == 0 || slices.Contains(values, value)
}

// movements returns the movements of an event, with its payment.
func (e recorded) movements(v *frame.Visit) (of summary, all []movement, err error) {
	if e.Payment == nil {
		return e.disputed(v)
	}
	for _, t := range e.Payment.Transactions {
		for _, o := range t.Events {
			if m := t.movement(o, e.Payment.CurrencyCode); o.ID == e.ID && m.kind != "" {
				m.processorOperation = e.Event.ProcessorTransactionID // a capture has one of its own, beside its sale's
				all = append(all, m)
			}
		}
	}
	return e.Payment.summary, all, nil
}

// disputed returns the movements of the step that an event of a dispute added to its history: the
// first event added the first one.
func (e recorded) disputed(v *frame.Visit) (of summary, all []movement, err error) {
	var d disputed
	if err := v.Get(frame.Path("management", "disputes", e.AggregateID), nil, &d); err != nil {
		return of, nil, err
	}
	for _, m := range d.movements() {
		if uint64(m.step)+1 == e.Revision {
			all = append(all, m)
		}
	}
	if len(all) > 0 {
		err = v.Get(frame.Path("management", "payments", cmp.Or(d.PaymentID, "-")), nil, &of)
	}
	return of, all, err
}
