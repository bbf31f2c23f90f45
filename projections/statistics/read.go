package statistics

import (
	"context"
	"database/sql"
	"fmt"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/projections/sqlitefile"
)

// Query selects what a Report counts.
type Query struct {
	From, To Day             // both included
	Hourly   bool            // with ByHour
	Currency domain.Currency // "": all. Only payments and their sums are selected by it and by Status.
	Status   payment.Status  // "": all
}

const (
	selectCounts   = `SELECT hour, counts FROM statistics WHERE account = ? AND hour >= ? AND hour < ? ORDER BY hour`
	selectDisputes = `SELECT created_at / 3600000000, status, count(*) FROM disputes INDEXED BY disputes_created
		WHERE account = ? AND created_at >= ? AND created_at < ? GROUP BY 1, 2`
)

// Read returns the report of an account for some days.
func Read(ctx context.Context, db *sql.DB, account domain.AccountID, q Query) (Report, error) {
	t := newTally(q)
	first, end := q.From.First(), (q.To + 1).First()
	err := sqlitefile.Rows(db.QueryContext(ctx, selectCounts, string(account), int64(first), int64(end))).Each(func(scan sqlitefile.Scan) error {
		var hour Hour
		var b sql.RawBytes
		if err := scan(&hour, &b); err != nil {
			return err
		}
		return t.add(hour, b)
	})
	if err == nil {
		err = sqlitefile.Rows(db.QueryContext(ctx, selectDisputes, string(account), int64(first)*microsPerHour, int64(end)*microsPerHour)).Each(func(scan sqlitefile.Scan) error {
			var hour Hour
			var status string
			var n int64
			if err := scan(&hour, &status, &n); err != nil {
				return err
			}
			t.addDisputes(hour, status, n)
			return nil
		})
	}
	if err != nil {
		return Report{}, fmt.Errorf("statistics: %w", err)
	}
	return t.report(), nil
}

// key is a key of counts, taken apart once for all hours that have it.
type key struct {
	text  string
	kind  byte
	names []string
	left  bool // the query leaves it out
}

// bucket has the counts of a day or of an hour, by the number of their key; nil: it has none.
type bucket struct {
	counts   []*numbers
	captured int64 // payments with a captured amount, also those that the query leaves out
	disputes int64
}

type tally struct {
	Query
	numbers  map[string]int // of keys
	keys     []key
	next     []int // the number of the key that last came after a key, by its number + 1
	all      bucket
	days     map[Day]*bucket
	hours    map[Hour]*bucket
	ofDay    [hoursPerDay]HourOfDay
	disputes map[string]int64 // by status
}

func newTally(q Query) *tally {
	return &tally{
		Query: q, numbers: map[string]int{}, next: []int{-1}, days: map[Day]*bucket{}, hours: map[Hour]*bucket{}, disputes: map[string]int64{},
	}
}

func within[K comparable](all map[K]*bucket, key K) *bucket {
	if all[key] == nil {
		all[key] = new(bucket)
	}
	return all[key]
}

// buckets returns those to which an hour belongs.
func (t *tally) buckets(hour Hour) []*bucket {
	all := []*bucket{within(t.days, hour.Day())}
	if t.Hourly {
		all = append(all, within(t.hours, hour))
	}
	return all
}

func (t *tally) add(hour Hour, counts []byte) error {
	buckets, ofDay := t.buckets(hour), &t.ofDay[hour%hoursPerDay]
	last := -1
	err := each(counts, func(text []byte, n *numbers) {
		number := t.number(text, last)
		last = number
		k := &t.keys[number]
		if k.kind == kindGroup {
			for _, b := range buckets {
				b.captured += n[nCaptured]
			}
		}
		if k.left {
			return
		}
		switch k.kind {
		case kindGroup:
			ofDay.Payments += n[nPayments]
		case kindProcessor:
			ofDay.Authorizations.add(n)
		}
		for _, b := range buckets {
			b.add(number, n)
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", hour, err)
	}
	return nil
}

// number returns the number of a key, which comes after that with the number last (−1: it is the
// first one). Most hours have the same keys, always in their order: to compare a text costs less
// than to look it up.
func (t *tally) number(text []byte, last int) int {
	if guess := t.next[last+1]; guess >= 0 && t.keys[guess].text == string(text) {
		return guess
	}
	number, known := t.numbers[string(text)]
	if !known {
		number = t.know(string(text))
	}
	t.next[last+1] = number
	return number
}

func (t *tally) know(text string) int {
	k := key{text: text, kind: text[0], names: names(text)}
	if k.kind == kindGroup {
		k.left = t.Currency != "" && k.names[0] != string(t.Currency) || t.Status != "" && k.names[1] != string(t.Status)
	}
	t.keys, t.next = append(t.keys, k), append(t.next, -1)
	t.numbers[text] = len(t.keys) - 1
	return len(t.keys) - 1
}

func (b *bucket) add(number int, n *numbers) {
	for len(b.counts) <= number {
		b.counts = append(b.counts, nil)
	}
	if b.counts[number] == nil {
		b.counts[number] = new(numbers)
	}
	b.counts[number].add(n)
}

// each calls do with the key and the numbers of each count.
func (t *tally) each(b *bucket, do func(k *key, n *numbers)) {
	for number, n := range b.counts {
		if n != nil {
			do(&t.keys[number], n)
		}
	}
}

func (t *tally) addDisputes(hour Hour, status string, n int64) {
	for _, b := range append(t.buckets(hour), &t.all) {
		b.disputes += n
	}
	t.disputes[status] += n
}
