package paymentpages

import (
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

// historyMost is the greatest number of events on the page. Large events are fewer: the API ends an
// answer that is larger than 8 MiB.
const historyMost = 200

// events is a part of a payment's history, as the API answers it.
type events struct {
	Data      []entry
	NextAfter uint64
}

// readPart returns the newest events until a revision, as many as fit on the page, and the event
// after them, if there is one. wanted is the revision that the part must reach.
func readPart(v *frame.Visit, id string, until, wanted uint64) ([]entry, error) {
	for most := uint64(historyMost); ; {
		most = min(most, until)
		var part events
		err := v.Get(frame.Path("management", "payments", id, "events"), url.Values{
			"after": {fmt.Sprint(until - most)}, "limit": {fmt.Sprint(most + 1)}, "expand": {"webhooks", "processor", "routing", "workflow"},
		}, &part)
		got := uint64(len(part.Data))
		if err != nil || got == 0 || most <= 1 || part.Data[got-1].Revision >= wanted {
			return part.Data, err
		}
		most = max(1, got*7/8) // the newer events are larger: they have more transactions
	}
}

// readHistory reads the part of the payment's history that the page shows: the newest, or an
// earlier one with the moment at. An earlier one ends with the revision until, if the address names
// it, and else with that moment. revision is the payment's.
func (v *view) readHistory(visit *frame.Visit, at, until string, revision uint64) error {
	newest, err := readPart(visit, v.Payment.ID, revision, revision)
	if err != nil || len(newest) == 0 {
		return err
	}
	last := newest[len(newest)-1]
	v.Entries, v.Revisions = newest, last.Revision
	if v.Until, err = v.partOf(visit, at, until); err != nil {
		return err
	}
	if v.Until > 0 {
		if v.Entries, err = readPart(visit, v.Payment.ID, v.Until, v.Until+1); err != nil {
			return err
		}
		if n := len(v.Entries); n > 1 && v.Entries[n-1].Revision > v.Until {
			v.After, v.Entries = &v.Entries[n-1].Time, v.Entries[:n-1]
		}
	}
	endWaits(v.Entries, last.Waiting)
	return nil
}

// partOf returns the last revision of the earlier part of the history that has a moment; 0: the
// newest part has it. v has the newest part.
func (v *view) partOf(visit *frame.Visit, at, until string) (uint64, error) {
	first := v.Entries[0]
	if n, err := strconv.ParseUint(at, 10, 64); err == nil {
		end, err := strconv.ParseUint(until, 10, 64)
		switch {
		case err == nil && 0 < n && n <= end && end < v.Revisions:
			return end, nil
		case 0 < n && n < first.Revision:
			return n, nil
		}
		return 0, nil
	}
	moment, err := parseTime(at)
	if err != nil || first.Revision == 1 || !moment.Before(v.earliest()) {
		return 0, nil
	}
	return revisionAt(visit, v.Payment.ID, moment, first.Revision)
}

// revisionAt returns the newest revision of a payment at a time before the event of the revision
// before; 1 also for a time before the payment.
func revisionAt(v *frame.Visit, id string, at time.Time, before uint64) (uint64, error) {
	var failed error
	n := sort.Search(int(before)-1, func(after int) bool { // whether no event until then is behind the revision after
		var part events
		err := v.Get(frame.Path("management", "payments", id, "events"), frame.Query("at", at.UTC().Format(time.RFC3339Nano), "after", strconv.Itoa(after), "limit", "1"), &part)
		if err != nil && frame.IDOf(err) != string(domain.ReasonEntityNotFound) {
			failed = err
		}
		return len(part.Data) == 0
	})
	return max(1, uint64(n)), failed
}

// Partial reports whether the history is longer than the page shows.
func (v view) Partial() bool { return uint64(len(v.Entries)) < v.Revisions }

// First returns the oldest revision on the page.
func (v view) First() uint64 { return v.Entries[0].Revision }

// Last returns the newest revision on the page.
func (v view) Last() uint64 { return v.Entries[len(v.Entries)-1].Revision }

// Earlier returns the newest revision before those on the page; 0: there is none.
func (v view) Earlier() uint64 { return v.First() - 1 }
