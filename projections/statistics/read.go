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
	selectCounts   = `SELECT at, counts FROM statistics WHERE account = ? AND daily = ? AND at >= ? AND at < ? ORDER BY at`
	selectDisputes = `SELECT created_at / ?, status, count(*) FROM disputes INDEXED BY disputes_created
		WHERE account = ? AND created_at >= ? AND created_at < ? GROUP BY 1, 2`
)

// Read returns the report of an account for some days. It reads one row for each day, and one for
// each hour of an Hourly query.
func Read(ctx context.Context, db *sql.DB, account domain.AccountID, q Query) (Report, error) {
	t := newTally(q)
	if err := t.read(ctx, db, account); err != nil {
		return Report{}, fmt.Errorf("statistics: %w", err)
	}
	return t.report(), nil
}

func (t *tally) read(ctx context.Context, db *sql.DB, account domain.AccountID) error {
	first, end := t.From.First(), (t.To + 1).First()
	hours := int64(t.hoursOfSpan())
	rows := sqlitefile.Rows(db.QueryContext(ctx, selectCounts, string(account), !t.Hourly, int64(first)/hours, int64(end)/hours))
	err := rows.Each(func(scan sqlitefile.Scan) error {
		var at int64
		var b sql.RawBytes
		if err := scan(&at, &b); err != nil {
			return err
		}
		return t.add(Hour(at*hours), b)
	})
	if err != nil {
		return err
	}
	rows = sqlitefile.Rows(db.QueryContext(ctx, selectDisputes, hours*microsPerHour, string(account), int64(first)*microsPerHour, int64(end)*microsPerHour))
	return rows.Each(func(scan sqlitefile.Scan) error {
		var at, n int64
		var status string
		if err := scan(&at, &status, &n); err != nil {
			return err
		}
		t.addDisputes(Hour(at*hours), status, n)
		return nil
	})
}

// hoursOfSpan returns the hours of a row that the query reads.
func (q Query) hoursOfSpan() Hour {
	if q.Hourly {
		return 1
	}
	return hoursPerDay
}

// key is a key of counts, taken apart once for all hours that have it.
type key struct {
	text  string
	kind  byte
	names []string
	part  int  // the part of the day, of kindHours and kindTries
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

// add adds the counts of an hour, or those of the day that begins with the hour.
func (t *tally) add(hour Hour, counts []byte) error {
	buckets := t.buckets(hour)
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
		if t.Hourly {
			t.addOfHour(hour, k, n)
		} else if t.addOfDay(k, n) {
			return
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

// addOfHour adds the counts of an hour to those of the hour of any day.
func (t *tally) addOfHour(hour Hour, k *key, n *numbers) {
	switch ofDay := &t.ofDay[hour%hoursPerDay]; k.kind {
	case kindGroup:
		ofDay.Payments += n[nPayments]
	case kindProcessor:
		ofDay.Authorizations.add(n[:])
	}
}

// addOfDay adds the counts that a day has of its hours; false: the key has others.
func (t *tally) addOfDay(k *key, n *numbers) bool {
	switch k.kind {
	case kindHours:
		for place := range hoursPart {
			t.ofDay[k.part*hoursPart+place].Payments += n[place]
		}
	case kindTries:
		for place := range triesPart {
			t.ofDay[k.part*triesPart+place].Authorizations.add(n[place*outcomes:])
		}
	default:
		return false
	}
	return true
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
	k := key{text: text, kind: text[0], names: names(text), part: int(text[len(text)-1] - '0')}
	if k.kind == kindGroup || k.kind == kindHours {
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
