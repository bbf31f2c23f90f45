package statistics

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"payledger/domain/processor"
)

// The kinds of counts: the first byte of a key. The names in a key are separated by a zero byte.
// Only days have the last two.
const (
	kindGroup     = 'g' // currency, status, processor: the payments and their sums
	kindProcessor = 'p' // processor: outcomes of authorizations
	kindNetwork   = 'n' // card network: outcomes of authorizations
	kindCountry   = 'c' // country of the issuer: outcomes of authorizations
	kindReason    = 'r' // status, reason: payments
	kindFunnel    = 'f' // the steps of client sessions
	kindChallenge = '3' // payments by Challenge
	kindHours     = 'h' // currency, status, part of the day: the payments of each of its hours
	kindTries     = 't' // part of the day: outcomes of authorizations of each of its hours
)

// The hours of a part of the day.
const (
	hoursPart = 8 // of kindHours
	triesPart = 3 // of kindTries
)

const separator = "\x00"

// numbers are the counts under one key. Which ones there are depends on the kind.
type numbers [9]int64

// The numbers of kindGroup. The upper and the lower 32 bits of a sum are separate, because a
// thousand amounts of 2^53 − 1 do not fit 64 bits.
const (
	nPayments = iota
	nCaptured // payments with a captured amount
	nRefunded // payments with a refunded amount
	nSums     // upper and lower bits of amount, captured and refunded
)

// The numbers of kindFunnel: payments are those made in a client session.
const (
	fSessions = iota
	fCards
	fPayments
	fAuthorized
	fCaptured
)

// counts are the counts of an account in an hour or on a day. No entry has only zeros.
type counts map[string]*numbers

func (c counts) at(key string) *numbers {
	n := c[key]
	if n == nil {
		n = new(numbers)
		c[key] = n
	}
	return n
}

// add counts a payment; by is 1, or −1 to take it out again.
func (c counts) add(f *Facts, by int64) {
	group := c.at(string(kindGroup) + string(f.Currency) + separator + string(f.Status) + separator + string(f.Processor))
	group[nPayments] += by
	group[nCaptured] += by * one(f.Captured > 0)
	group[nRefunded] += by * one(f.Refunded > 0)
	for i, sum := range [3]int64{f.Amount, f.Captured, f.Refunded} {
		group[nSums+2*i] += by * (sum >> 32)
		group[nSums+2*i+1] += by * (sum & (1<<32 - 1))
	}
	authorized := false
	for place, name := range processor.Names {
		to := outcomeAt(f.Tries, place)
		if to == none {
			continue
		}
		authorized = authorized || to == approved
		c.at(string(kindProcessor) + string(name))[to-approved] += by
		c.at(string(kindNetwork) + string(f.Network))[to-approved] += by
		c.at(string(kindCountry) + f.Country)[to-approved] += by
	}
	if f.Reason != "" {
		c.at(string(kindReason) + string(f.Status) + separator + f.Reason)[0] += by
	}
	if f.Challenge != Unauthenticated {
		c.at(string(kindChallenge))[f.Challenge] += by
	}
	if f.Session {
		funnel := c.at(string(kindFunnel))
		funnel[fPayments] += by
		funnel[fAuthorized] += by * one(authorized)
		funnel[fCaptured] += by * one(f.Captured > 0)
	}
}

// addHour counts a payment of a day for its hour; by is as for add.
func (c counts) addHour(f *Facts, by int64) {
	c.addPayments(f.Hour, string(f.Currency), string(f.Status), by)
	for place := range processor.Names {
		if to := outcomeAt(f.Tries, place); to != none {
			c.addTries(f.Hour, to, by)
		}
	}
}

func (c counts) addPayments(hour Hour, currency, status string, n int64) {
	part, place := partOf(hour, hoursPart)
	c.at(string(kindHours) + currency + separator + status + separator + part)[place] += n
}

func (c counts) addTries(hour Hour, to outcome, n int64) {
	part, place := partOf(hour, triesPart)
	c.at(string(kindTries) + part)[place*outcomes+int(to-approved)] += n
}

// partOf returns the part of the day that has an hour, and the place of the hour there.
func partOf(hour Hour, length int) (part string, place int) {
	ofDay := int(hour % hoursPerDay)
	return strconv.Itoa(ofDay / length), ofDay % length
}

// merge adds the counts of an hour of the day.
func (c counts) merge(hour Hour, of counts) {
	for key, n := range of {
		c.at(key).add(n)
		switch names := names(key); key[0] {
		case kindGroup:
			c.addPayments(hour, names[0], names[1], n[nPayments])
		case kindProcessor:
			for to := approved; to < approved+outcomes; to++ {
				c.addTries(hour, to, n[to-approved])
			}
		}
	}
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// encode returns the counts as bytes, the same ones for equal counts: each key with its length, and
// its numbers up to the last one that is not 0, with their number before them.
func (c counts) encode() []byte {
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(c)) {
		all := c[key]
		n := len(all)
		for n > 0 && all[n-1] == 0 {
			n--
		}
		if n == 0 {
			delete(c, key)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(key)))
		b = append(append(b, key...), byte(n))
		for _, number := range all[:n] {
			b = binary.AppendVarint(b, number)
		}
	}
	return b
}

var errCounts = errors.New("the counts are unreadable")

// each calls do with each key and its numbers, in the order of the keys. Both are valid during the
// call only.
func each(b []byte, do func(key []byte, n *numbers)) error {
	var all numbers
	for len(b) > 0 {
		length, n := binary.Uvarint(b)
		if n <= 0 || length == 0 || uint64(len(b)-n) <= length {
			return errCounts
		}
		key, left := b[n:n+int(length)], b[n+int(length)]
		b = b[n+int(length)+1:]
		if int(left) > len(all) {
			return errCounts
		}
		all = numbers{}
		for i := range int(left) {
			if len(b) > 0 && b[0] < 0x80 { // most numbers have one byte
				all[i], b = int64(b[0]>>1)^-int64(b[0]&1), b[1:]
				continue
			}
			if all[i], n = binary.Varint(b); n <= 0 {
				return errCounts
			}
			b = b[n:]
		}
		do(key, &all)
	}
	return nil
}

func decode(b []byte) (counts, error) {
	c := counts{}
	return c, each(b, func(key []byte, n *numbers) {
		all := *n
		c[string(key)] = &all
	})
}

// names returns the names of a key.
func names(key string) []string { return strings.Split(key[1:], separator) }
