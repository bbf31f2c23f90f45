package deliveries

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"payledger/domain"
	"payledger/projections/durations"
)

// facts are the values of a row that are counted. Two equal facts count the same.
type facts struct {
	account   domain.AccountID
	endpoint  domain.EndpointID
	planned   int64 // microseconds
	status    string
	succeeded int64 // microseconds; 0: no attempt succeeded
	by        int64 // number of the attempt that succeeded first
}

// factsOf returns the facts of a row; planned is the time of planning that the file has.
func factsOf(r *Row, planned int64) facts {
	return facts{r.Account, r.Endpoint, planned, r.Status, micros(r.SucceededAt), int64(r.SucceededBy)}
}

// fields are the fields in the order of factColumns.
func (f *facts) fields() []any {
	return []any{&f.account, &f.endpoint, &f.planned, &f.status, &f.succeeded, &f.by}
}

// The numbers of an endpoint. Each delivery has one status; those of nFirst are among nSucceeded.
const (
	nSucceeded = iota
	nFirst     // the first attempt succeeded
	nRetrying  // the last automatic attempt failed, another one follows
	nExhausted // all automatic attempts failed
	nCancelled // the endpoint was deleted or disabled before
	nWaiting   // for the first automatic attempt
	nNumbers
)

var ofStatus = map[string]int{succeeded: nSucceeded, "FAILED": nRetrying, "EXHAUSTED": nExhausted, "CANCELLED": nCancelled, "PLANNED": nWaiting}

// tally counts deliveries.
type tally struct {
	numbers [nNumbers]int64
	took    durations.Histogram // from planning to success
}

func (t *tally) merge(other *tally) {
	for i, n := range other.numbers {
		t.numbers[i] += n
	}
	t.took.Merge(other.took)
}

// counts are the counts of an account in one hour or on one day, by endpoint.
type counts map[domain.EndpointID]*tally

func (c counts) at(endpoint domain.EndpointID) *tally {
	if c[endpoint] == nil {
		c[endpoint] = new(tally)
	}
	return c[endpoint]
}

// add counts a delivery; by is 1, or −1 to take it out again.
func (c counts) add(f *facts, by int64) {
	t := c.at(f.endpoint)
	if number, known := ofStatus[f.status]; known {
		t.numbers[number] += by
	}
	if f.by == 1 {
		t.numbers[nFirst] += by
	}
	if f.by > 0 {
		t.took.Add(durations.BucketOf(time.Duration(f.succeeded-f.planned)*time.Microsecond), by)
	}
}

// encode returns the counts as bytes, the same ones for equal counts: for each endpoint its name
// with the length, the numbers and the durations.
func (c counts) encode() []byte {
	var b []byte
	for _, endpoint := range slices.Sorted(maps.Keys(c)) {
		t := c[endpoint]
		b = binary.AppendUvarint(b, uint64(len(endpoint)))
		b = append(b, endpoint...)
		for _, n := range t.numbers {
			b = binary.AppendUvarint(b, uint64(n))
		}
		b = t.took.Append(b)
	}
	return b
}

var errCounts = errors.New("the counts of deliveries are unreadable")

// read adds counts that encode wrote.
func (c counts) read(b []byte) error {
	for len(b) > 0 {
		length, n := binary.Uvarint(b)
		if n <= 0 || uint64(len(b)-n) < length {
			return errCounts
		}
		t := c.at(domain.EndpointID(b[n : n+int(length)]))
		b = b[n+int(length):]
		for i := range t.numbers {
			number, n := binary.Uvarint(b)
			if n <= 0 {
				return errCounts
			}
			t.numbers[i] += int64(number)
			b = b[n:]
		}
		var err error
		if b, err = durations.Cut(b, func(one durations.Count) { t.took.Add(one.Bucket, one.N) }); err != nil {
			return err
		}
	}
	return nil
}
