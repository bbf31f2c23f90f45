package traffic

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/projections/durations"
	"payledger/projections/statistics"
)

// The bounds of the memory.
const (
	keptHours    = 31 * 24
	keptAccounts = 256
)

// The classes of statuses.
const (
	succeeded = iota // below 400
	refused          // 4xx
	failed           // 5xx
	classes
)

func classOf(status int) int {
	switch {
	case status < 400:
		return succeeded
	case status < 500:
		return refused
	}
	return failed
}

// Counts are the counts of a node, safe for concurrent use.
type Counts struct {
	since    time.Time
	accounts sync.Map // of domain.AccountID: *account

	mu     sync.Mutex // held to add an account
	number int
	forgot bool // an account was replaced
}

// account has the counts of an account.
type account struct {
	since time.Time
	hours atomic.Pointer[hours]

	mu   sync.Mutex // held when an hour begins, and to read past
	past []packed   // the oldest first
}

// hours are the two newest hours with requests, which never change. before is nil at first.
type hours struct{ newest, before *hour }

// hour has the counts of an hour.
type hour struct {
	at       statistics.Hour
	statuses [classes]atomic.Int64
	took     [durations.Buckets]atomic.Uint32
}

// packed are the counts of an older hour as bytes: the statuses and the histogram.
type packed struct {
	at     statistics.Hour
	counts []byte
}

// New returns counts of a node that starts at a time.
func New(since time.Time) *Counts { return &Counts{since: since} }

// Add counts a request that was answered with a status at a time, and took a while. It never waits
// for another request, except when an hour or an account begins.
func (c *Counts) Add(id domain.AccountID, status int, at time.Time, took time.Duration) {
	found, known := c.accounts.Load(id)
	if !known {
		found = c.begin(id, at)
	}
	h := found.(*account).at(statistics.HourOf(at))
	h.statuses[classOf(status)].Add(1)
	h.took[durations.BucketOf(took)].Add(1)
}

// begin adds an account.
func (c *Counts) begin(id domain.AccountID, at time.Time) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, known := c.accounts.Load(id); known {
		return found
	}
	made := &account{since: c.since}
	if c.forgot {
		made.since = at
	}
	made.hours.Store(&hours{newest: &hour{at: statistics.HourOf(at)}})
	if c.number++; c.number > keptAccounts {
		c.forgetOne()
	}
	c.accounts.Store(id, made)
	return made
}

// forgetOne drops the account whose newest hour is the oldest.
func (c *Counts) forgetOne() {
	var oldest any
	var before statistics.Hour
	c.accounts.Range(func(id, of any) bool {
		if at := of.(*account).hours.Load().newest.at; oldest == nil || at < before {
			oldest, before = id, at
		}
		return true
	})
	c.accounts.Delete(oldest)
	c.number--
	c.forgot = true
}

// mayHaveForgotten reports whether an account without counts may have had some.
func (c *Counts) mayHaveForgotten() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forgot
}

// at returns the counts of an hour. For an hour that is packed it returns the oldest that is not,
// and for one between the two newest the newest.
func (a *account) at(at statistics.Hour) *hour {
	all := a.hours.Load()
	if at > all.newest.at {
		all = a.turn(at)
	}
	if all.before != nil && at <= all.before.at {
		return all.before
	}
	return all.newest
}

// turn begins an hour.
func (a *account) turn(at statistics.Hour) *hours {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.hours.Load()
	if at <= last.newest.at {
		return last
	}
	if last.before != nil {
		a.past = append(a.past, packed{last.before.at, last.before.pack()})
		if len(a.past) > keptHours {
			a.past = append([]packed(nil), a.past[len(a.past)-keptHours:]...)
		}
	}
	next := &hours{newest: &hour{at: at}, before: last.newest}
	a.hours.Store(next)
	return next
}

// each calls do with the sums of the hours from one to before another.
func (a *account) each(from, end statistics.Hour, do func(at statistics.Hour, s *sum)) error {
	a.mu.Lock()
	past, recent := a.past, a.hours.Load()
	a.mu.Unlock()
	for _, p := range past {
		if p.at < from || p.at >= end {
			continue
		}
		s, err := unpack(p.counts)
		if err != nil {
			return err
		}
		do(p.at, &s)
	}
	for _, h := range []*hour{recent.before, recent.newest} {
		if h == nil || h.at < from || h.at >= end {
			continue
		}
		s := h.sum()
		do(h.at, &s)
	}
	return nil
}

// sum are counts that do not change.
type sum struct {
	statuses [classes]int64
	took     durations.Histogram
}

func (s *sum) merge(other *sum) {
	for class, n := range other.statuses {
		s.statuses[class] += n
	}
	s.took.Merge(other.took)
}

func (h *hour) sum() (s sum) {
	for class := range h.statuses {
		s.statuses[class] = h.statuses[class].Load()
	}
	for bucket := range h.took {
		s.took.Add(durations.Bucket(bucket), int64(h.took[bucket].Load()))
	}
	return s
}

func (h *hour) pack() []byte {
	s := h.sum()
	return s.pack()
}

func (s *sum) pack() (b []byte) {
	for _, n := range s.statuses {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return s.took.Append(b)
}

var errPacked = errors.New("traffic: the counts of an hour are unreadable")

func unpack(b []byte) (s sum, err error) {
	for class := range s.statuses {
		n, length := binary.Uvarint(b)
		if length <= 0 {
			return s, errPacked
		}
		s.statuses[class], b = int64(n), b[length:]
	}
	_, err = durations.Cut(b, func(c durations.Count) { s.took = append(s.took, c) })
	return s, err
}
