package traffic

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"time"

	"payledger/domain"
	"payledger/projections/statistics"
)

// Nodes adds the counts of all nodes up.
type Nodes struct {
	Own *Counts
	// Others sends a question to each other node that serves, and returns the answers (Answer), and
	// the number of nodes that did not answer. nil: there is no other node.
	Others func(ctx context.Context, question []byte) (answers [][]byte, silent int)
}

// question selects the counts that a node sends to another one.
type question struct {
	Account  domain.AccountID
	From, To int64 // days
}

// part has the counts of an account in some hours at one node, which counts since a time.
type part struct {
	since time.Time
	hours []counted
}

type counted struct {
	at  statistics.Hour
	sum sum
}

// parts returns the counts of this node, then those of the other nodes.
func (n *Nodes) parts(ctx context.Context, id domain.AccountID, p Period, now time.Time) (all []part, silent int, err error) {
	own, err := n.Own.part(id, p, now)
	if err != nil || n.Others == nil {
		return []part{own}, 0, err
	}
	asked, err := json.Marshal(question{id, int64(p.From), int64(p.To)})
	if err != nil {
		return nil, 0, err
	}
	answers, silent := n.Others(ctx, asked)
	all = []part{own}
	for _, answer := range answers {
		of, err := parsePart(answer)
		if err != nil { // of another build
			silent++
			continue
		}
		all = append(all, of)
	}
	return all, silent, nil
}

// Answer returns the counts that another node's question selects; nil if it cannot be read.
func (c *Counts) Answer(asked []byte, now time.Time) []byte {
	var q question
	if err := json.Unmarshal(asked, &q); err != nil {
		return nil
	}
	of, err := c.part(q.Account, Period{From: statistics.Day(q.From), To: statistics.Day(q.To)}, now)
	if err != nil {
		return nil
	}
	return of.pack()
}

// part returns the counts of an account in a period until now.
func (c *Counts) part(id domain.AccountID, p Period, now time.Time) (of part, err error) {
	a, since := (*account)(nil), c.since
	if found, known := c.accounts.Load(id); known {
		a = found.(*account)
		since = a.since
	} else if c.mayHaveForgotten() {
		since = now
	}
	of.since = later(since, time.Unix(int64(statistics.HourOf(now)-keptHours+1)*int64(time.Hour/time.Second), 0).UTC())
	if a == nil {
		return of, nil
	}
	first, end := p.hours(of.since, statistics.HourOf(now))
	err = a.each(first, end, func(at statistics.Hour, s *sum) { of.hours = append(of.hours, counted{at, *s}) })
	return of, err
}

// pack writes the part: the time in microseconds, then each hour with the length of its counts.
func (p part) pack() []byte {
	b := binary.AppendUvarint(nil, uint64(p.since.UnixMicro()))
	for i := range p.hours {
		counts := p.hours[i].sum.pack()
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.hours[i].at)), uint64(len(counts)))
		b = append(b, counts...)
	}
	return b
}

func parsePart(b []byte) (of part, err error) {
	next := func() (n uint64) {
		n, length := binary.Uvarint(b)
		if length <= 0 {
			b, err = nil, errPacked
			return 0
		}
		b = b[length:]
		return n
	}
	of.since = time.UnixMicro(int64(next())).UTC()
	for err == nil && len(b) > 0 {
		at, length := statistics.Hour(next()), next()
		if err != nil || length > uint64(len(b)) {
			return of, errPacked
		}
		s, broken := unpack(b[:length])
		if broken != nil {
			return of, broken
		}
		of.hours, b = append(of.hours, counted{at, s}), b[length:]
	}
	return of, err
}
