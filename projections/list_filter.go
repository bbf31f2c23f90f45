package projections

import (
	"encoding/binary"
	"slices"

	"payledger/domain"
	"payledger/projections/sqlitefile"
)

// filter is a PaymentFilter in the terms of rows and blocks.
type filter struct {
	account string
	f       PaymentFilter
	equal   []equal // the columns that must have one of some values, the most selective first
}

type equal struct {
	column string
	values []string
	index  string      // has the payments of a value in order; "" for none
	code   blockColumn // blockColumns for none
}

func newFilter(account domain.AccountID, f PaymentFilter, hashes []string) filter {
	out := filter{account: string(account), f: f}
	for _, e := range []equal{
		{"session", given(string(f.Session)), "payments_session", blockColumns},
		{"order_id", given(f.OrderID), "payments_order", columnOrder},
		{"email_hash", hashes, "payments_email", columnEmail},
		{"customer_id", f.CustomerIDs, "payments_customer", columnCustomer},
		{"last4", f.Last4Digits, "", columnLast4},
		{"status", f.Statuses, "", columnKind}, {"processor", f.Processors, "", columnKind},
		{"merchant_id", f.MerchantIDs, "", columnKind}, {"currency", f.Currencies, "", columnKind},
		{"payment_method_type", f.MethodTypes, "", columnKind},
	} {
		if e.values = slices.Compact(slices.Sorted(slices.Values(e.values))); len(e.values) > 0 {
			out.equal = append(out.equal, e)
		}
	}
	return out
}

func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// along returns the column whose index a list walks; nil is the time of creation.
func (f *filter) along() *equal {
	if len(f.equal) == 0 || f.equal[0].index == "" {
		return nil
	}
	return &f.equal[0]
}

// conditions returns the filter's conditions on a row, except account and times.
func (f *filter) conditions() (w sqlitefile.Where) {
	for _, e := range f.equal {
		w.OneOf(e.column, e.values)
		if e.index != "" {
			w.And(e.column + " <> ''")
		}
	}
	if f.f.MinAmount != nil {
		w.And("amount >= ?", int64(*f.f.MinAmount))
	}
	if f.f.MaxAmount != nil {
		w.And("amount <= ?", int64(*f.f.MaxAmount))
	}
	f.addTries(&w)
	return w
}

func (f *filter) addTries(w *sqlitefile.Where) {
	if tried := f.f.tried().Condition(); tried != "" {
		w.And(tried)
	}
}

func (f *filter) kindConditions() (w sqlitefile.Where) {
	w.And("account = ?", f.account)
	for _, e := range f.equal {
		if e.code == columnKind {
			w.OneOf(e.column, e.values)
		}
	}
	f.addTries(&w)
	return w
}

func (f *filter) textTests() (tests []*codeTest) {
	for _, e := range f.equal {
		if e.code == columnKind || e.code == blockColumns {
			continue
		}
		test := &codeTest{column: e.code}
		for _, v := range e.values {
			test.oneOf = append(test.oneOf, textCode(v))
		}
		slices.Sort(test.oneOf)
		for _, code := range test.oneOf {
			test.sieve[code%sieveBits/64] |= 1 << (code % 64)
		}
		tests = append(tests, test)
	}
	return tests
}

func (f *filter) amountTest() []*codeTest {
	if f.f.MinAmount == nil && f.f.MaxAmount == nil {
		return nil
	}
	test := &codeTest{column: columnAmount, most: maxAmountCode}
	if f.f.MinAmount != nil {
		test.least = amountCode(*f.f.MinAmount)
	}
	if f.f.MaxAmount != nil {
		test.most = amountCode(*f.f.MaxAmount)
	}
	return []*codeTest{test}
}

const sieveBits = 1 << 13 // the number of bits of a sieve: far more than a filter has values

// codeTest is a test of the codes of one column. Every payment that fits the filter passes; others
// may pass, too.
type codeTest struct {
	column blockColumn
	// Depending on the column, kinds, oneOf with sieve, or the bounds decide.
	kinds       []bool                 // by code
	oneOf       []uint32               // sorted
	sieve       [sieveBits / 64]uint64 // bits of the codes in oneOf: most other codes fail here
	least, most uint32

	tested, passed int // codes so far
}

func (t *codeTest) pass(rows []uint16, codes []byte) []uint16 {
	n := len(codes) / codeSize
	t.tested += n
	before := len(rows)
	switch t.column {
	case columnKind:
		for row := range n {
			if code := int(binary.LittleEndian.Uint32(codes[row*codeSize:])); code < len(t.kinds) && t.kinds[code] {
				rows = append(rows, uint16(row))
			}
		}
	case columnAmount:
		for row := range n {
			if code := binary.LittleEndian.Uint32(codes[row*codeSize:]); t.least <= code && code <= t.most {
				rows = append(rows, uint16(row))
			}
		}
	default:
		for row := range n {
			code := binary.LittleEndian.Uint32(codes[row*codeSize:])
			if t.sieve[code%sieveBits/64]&(1<<(code%64)) == 0 {
				continue
			}
			if _, found := slices.BinarySearch(t.oneOf, code); found {
				rows = append(rows, uint16(row))
			}
		}
	}
	t.passed += len(rows) - before
	return rows
}

// share is the part of the codes that passed so far; one half before the first use.
func (t *codeTest) share() float64 { return (float64(t.passed) + 1) / (float64(t.tested) + 2) }
