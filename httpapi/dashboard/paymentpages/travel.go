package paymentpages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
	"payledger/projections/history"
)

// moment is what everybody knew after one event, until the next one.
type moment struct {
	At        time.Time
	Type      string
	Payment   paymentData
	JSON      json.RawMessage // the Payment JSON
	Accepted  []accepted      // webhooks that the merchant had accepted, newest first
	Untold    []untold        // webhooks of the events until then that nobody had accepted, newest event first
	Processor []processorCall // what each operation's processor had been sent and had answered, oldest first
}

type accepted struct {
	At                    time.Time
	EventType, EndpointID string
	Status                string // the payment's status in the webhook
	Revision              uint64
}

// untold is a webhook that its endpoint had not accepted.
type untold struct {
	accepted
	Tries     int
	Last      attempt // the zero value without a try
	Cancelled bool    // the endpoint was deleted or disabled before
}

// told are the webhooks of one event that had been accepted.
type told struct {
	accepted
	By []accepted
}

// Told returns the webhooks that had been accepted by event, newest event first.
func (m moment) Told() (all []told) {
	for _, a := range m.Accepted {
		i := slices.IndexFunc(all, func(t told) bool { return t.Revision == a.Revision })
		if i < 0 {
			i, all = len(all), append(all, told{accepted: a})
		}
		all[i].By = append(all[i].By, a)
	}
	slices.SortStableFunc(all, func(a, b told) int { return cmp.Compare(b.Revision, a.Revision) })
	return all
}

// travel chooses the moment that the page shows: a revision, or a time with the newest revision of
// then. Without one it is now. The page has the part of the history with that moment.
func (v *view) travel(at string, now time.Time) error {
	if len(v.Entries) == 0 {
		v.Newest = true
		return nil
	}
	v.At = v.Last()
	n, err := strconv.ParseUint(at, 10, 64)
	switch {
	case at == "":
	case err == nil && v.First() <= n && n <= v.Last():
		v.At = n
	case err == nil:
		return &frame.Failure{Status: 404, ID: "NotFound", Text: fmt.Sprintf("The payment has the revisions 1 to %d.", v.Revisions), Advice: "Choose one of them."}
	default:
		if err := v.atTime(at, now); err != nil {
			return err
		}
	}
	v.Newest = v.Time == nil && v.At == v.Revisions
	until := v.Time
	for i, e := range v.Entries {
		if e.Revision == v.At {
			v.Then.At, v.Then.Type, v.Then.JSON = e.Time, e.Type, e.Payment
			switch {
			case until != nil:
			case i+1 < len(v.Entries):
				until = &v.Entries[i+1].Time
			default:
				until = v.After
			}
		}
	}
	if err := json.Unmarshal(v.Then.JSON, &v.Then.Payment); err != nil {
		return fmt.Errorf("paymentpages: a payment in the history: %w", err)
	}
	v.markLater(until)
	v.Then.Accepted, v.Then.Untold, v.Then.Processor = v.accepted(), v.untold(until == nil), v.calls()
	return nil
}

// markLater marks the attempts whose answers came after until; nil: none.
func (v *view) markLater(until *time.Time) {
	for i := range v.Entries {
		for j := range v.Entries[i].Webhooks {
			w := &v.Entries[i].Webhooks[j]
			for k := range w.Attempts {
				if until != nil && w.Attempts[k].answered().After(*until) {
					w.Attempts[k].Later, w.Later = true, true
				}
			}
		}
	}
}

// times are the layouts of a time in the address and of the field for it, whose letters may be
// lower case (D22.8), and that of a time on a page. A time without an offset is in UTC.
var times = []string{time.RFC3339, fieldTime, fieldMinute, time.DateTime, "2006-01-02 15:04", frame.ShownTime}

const (
	fieldTime   = "2006-01-02T15:04:05"
	fieldMinute = "2006-01-02T15:04" // the field leaves the seconds out when they are 0
)

// parseTime reads a time. The page shows times cut to seconds: so a time without a fraction is the
// end of its second, or of its minute if it has no seconds, and includes all events that the page
// shows with it.
func parseTime(text string) (at time.Time, err error) {
	for _, layout := range times {
		if at, err = time.Parse(layout, strings.ToUpper(text)); err != nil {
			continue
		}
		switch {
		case strings.ContainsAny(text, ".,"):
			return at, nil
		case strings.HasSuffix(layout, "15:04"):
			return at.Add(time.Minute - 1), nil
		}
		return at.Add(time.Second - 1), nil
	}
	return at, err
}

// momentOf returns the revision or the time that the address of a page names. The field for a time
// is in seconds, also where it leaves them out.
func momentOf(v *frame.Visit) string {
	at := v.Value("at")
	if _, err := time.Parse(fieldMinute, at); err == nil && v.Value("unit") == "second" {
		at += ":00"
	}
	return at
}

// atTime chooses the moment of a time.
func (v *view) atTime(text string, now time.Time) error {
	at, err := parseTime(text)
	first := v.earliest()
	switch {
	case err != nil:
		return &frame.Failure{Status: 404, ID: "NotFound", Text: "“" + text + "” is no revision and no time.", Advice: "Write the time as in 2026-03-14T09:30:00, in UTC."}
	case at.Before(first):
		return &frame.Failure{Status: 404, ID: "NotFound", Text: "There was no payment yet: it was made " + frame.When(first) + ".", Advice: "Choose a later time."}
	case history.InFuture(at, v.Entries[len(v.Entries)-1].Time, now):
		return &frame.Failure{Status: 404, ID: "NotFound", Text: "“" + text + "” is in the future: the payment has no state of then yet.", Advice: "Choose an earlier time, or go back to the payment as it is now."}
	case !at.Before(now):
		return nil
	}
	at = at.UTC()
	v.Time = &at
	for _, e := range v.Entries {
		if !e.Time.After(at) {
			v.At = e.Revision
		}
	}
	return nil
}

// earliest returns the earliest time of an event on the page. With two nodes' clocks, times may go
// back.
func (v *view) earliest() time.Time {
	first := v.Entries[0].Time
	for _, e := range v.Entries {
		if e.Time.Before(first) {
			first = e.Time
		}
	}
	return first
}

// Shown returns the payment at the moment that the page shows.
func (v view) Shown() paymentData {
	if v.Newest || len(v.Entries) == 0 {
		return v.Payment
	}
	return v.Then.Payment
}

// Moment returns the chosen time, or that of the event, as the field for it shows it.
func (v view) Moment() string {
	if v.Time != nil {
		return v.Time.Format(fieldTime)
	}
	return v.Then.At.UTC().Format(fieldTime)
}

// accepted returns the webhooks that had been accepted. An attempt was accepted when its answer had
// come.
func (v *view) accepted() (all []accepted) {
	for _, e := range v.Entries {
		for _, w := range e.Webhooks {
			if at, is := w.acceptedAt(); is {
				all = append(all, accepted{at, w.EventType, w.EndpointID, e.Status(), e.Revision})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b accepted) int { return b.At.Compare(a.At) })
	return all
}

// acceptedAt returns when the webhook was accepted, unless that was later.
func (w hook) acceptedAt() (at time.Time, is bool) {
	i := slices.IndexFunc(w.Attempts, func(a attempt) bool { return a.Failure == "" && !a.Later })
	if i < 0 {
		return at, false
	}
	return w.Attempts[i].answered(), true
}

// Status returns the payment's status after the event, which its webhooks carry.
func (e entry) Status() string {
	var p struct{ Status string }
	_ = json.Unmarshal(e.Payment, &p) // "" is shown
	return p.Status
}

// untold returns the webhooks that had not been accepted; now: as of now.
func (v *view) untold(now bool) (all []untold) {
	for _, e := range slices.Backward(v.Entries) {
		if e.Revision > v.At {
			continue
		}
		for _, w := range e.Webhooks {
			if _, is := w.acceptedAt(); is || w.Dropped {
				continue
			}
			one := untold{accepted: accepted{EventType: w.EventType, EndpointID: w.EndpointID, Status: e.Status(), Revision: e.Revision}, Cancelled: now && w.Outcome == "CANCELLED"}
			for _, a := range w.Attempts {
				if !a.Later {
					one.Tries, one.Last = one.Tries+1, a
				}
			}
			all = append(all, one)
		}
	}
	return all
}

func (v *view) calls() (all []processorCall) {
	place := map[string]int{}
	for _, e := range v.Entries {
		if e.Revision > v.At {
			break
		}
		for _, c := range e.Processor {
			if i, known := place[c.IdempotencyKey]; known {
				all[i] = c
				continue
			}
			place[c.IdempotencyKey] = len(all)
			all = append(all, c)
		}
	}
	return all
}

// Believed says in words what the processor believed about an operation.
func (c processorCall) Believed() string {
	kind := nouns[processor.Kind(c.Operation)]
	switch {
	case c.Step == "REQUESTED":
		return fmt.Sprintf("The %s was being sent; there was no answer yet.", kind)
	case c.Step == "NO_ANSWER":
		return fmt.Sprintf("No answer about the %s within the payment timeout. The outcome was unknown and was being looked up.", kind)
	case c.Answer != nil && c.Answer.Code != "":
		return fmt.Sprintf("It answered the %s with %s: %s", kind, c.Answer.Code, c.Answer.Message)
	default:
		return fmt.Sprintf("It accepted the %s.", kind)
	}
}
