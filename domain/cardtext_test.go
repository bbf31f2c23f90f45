package domain_test

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
)

// TestFindCardNumber is the rule of D21, case by case.
func TestFindCardNumber(t *testing.T) {
	const undivided, divided, none = "undivided", "divided", ""
	rows := []struct{ name, text, want string }{
		{"alone", "4111111111111111", undivided},
		{"in words", "charge 4111111111111111 please", undivided},
		{"in JSON", `{"pan":"4111111111111111"}`, undivided},
		{"at the end of a sentence", "Charge 4111111111111111.", undivided},
		{"at the end of a sentence, divided by points", "Charge 4111.1111.1111.1111. Thanks.", divided},
		{"14 digits", "30569309025904", undivided},
		{"19 digits", padded("4", 19), undivided},
		{"after an underscore", "card_4111111111111111", undivided},
		{"after a dash", "order-4111111111111111", undivided},
		{"after a number", "order 12 4111111111111111", undivided},
		{"after a comma", "12,4111111111111111", undivided},
		{"the second of two", "4111111111111112, 4111111111111111", undivided},
		{"full-width digits", "４１１１１１１１１１１１１１１１", undivided},
		{"full-width digits, divided", "４１１１ １１１１ １１１１ １１１１", divided},
		{"both kinds of digits", "4111１１１１1111１１１１", undivided},
		{"before a year", "4111 1111 1111 1111 2026", divided},
		{"after a year", "2026 4111 1111 1111 1111", divided},
		{"American Express", "3782 822463 10005", divided},
		{"Diners Club", "3056-930902-5904", divided},
		{"other groups", "41 111-111 1111 1111-1", none},
		{"groups of eight", "41111111 11111111", none},
		{"digit by digit", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", none},
		{"two spaces", "4111  1111  1111  1111", none},
		{"two dividers", "4111 1111-1111 1111", none},
		{"a divider of another kind", "4111:1111:1111:1111", none},
		{"lines do not divide", "4111\n1111\n1111\n1111", none},
		{"a letter before it", "x4111111111111111", none},
		{"a letter behind it", "4111111111111111y", none},
		{"a letter of another script", "ж4111111111111111", none},
		{"a letter before a divided one", "x4111 1111 1111 1111", none},
		{"a letter behind a divided one", "4111 1111 1111 1111y", none},
		{"a point before it", "0.4111111111111111", none},
		{"a point and digits behind it", "4111111111111111.50", none},
		{"a point and a name behind it", "4111111111111111.html", none},
		{"a point before a divided one", ".4111 1111 1111 1111", none},
		{"longer in points", "4111.1111.1111.1111.1", none},
		{"a digit of another script behind it", "4111111111111111٤", none},
		{"nothing", "", none},
		{"words", "order number one", none},
		{"13 digits, as Visa once had", "4222222222222", none},
		{"20 digits", "41111111111111110000", none},
		{"20 digits that begin like a card", "41111111111111111234", none},
		{"a wrong check digit", "4111111111111112", none},
		{"a time in milliseconds", "1700000000000", none},
		{"a time in microseconds", "1700000000000000", none},
		{"an unknown prefix", padded("9", 16), none},
		{"a wrong length for the prefix", padded("4", 17), none},
		{"a date", "2026-11-21 05:30:38", none},
		{"a UUID of digits", "41111111-1111-4111-8111-111111111111", none},
		{"a UUID without dashes", "4111111111111111a111111111111111", none},
		{"behind a UUID", "123e4567-e89b-42d3-a456-426614174000 4111-1111-1111-1111", divided},
	}
	for _, row := range rows {
		number, grouped := domain.FindCardNumber(row.text, false)
		got := map[bool]string{false: undivided, true: divided}[grouped]
		if number == "" {
			got = none
		}
		if got != row.want {
			t.Errorf("%s: %q is %q, not %q", row.name, row.text, got, row.want)
		}
		if strict, _ := domain.FindCardNumber(row.text, true); (strict != "") != (row.want == divided) {
			t.Errorf("%s: among divided numbers %q gives %q", row.name, row.text, strict)
		}
	}
}

// divisions of card numbers by their length (D21).
var printed = map[int][]int{14: {4, 6, 4}, 15: {4, 6, 5}, 16: {4, 4, 4, 4}, 19: {4, 4, 4, 4, 3}}

// TestEveryDivision: a number of every scheme and length is found in text undivided, and divided in
// each way in which cards are printed (D21).
func TestEveryDivision(t *testing.T) {
	numbers := []string{
		padded("34", 15), padded("300", 14), padded("36", 16), padded("39", 19), padded("3528", 16), padded("3589", 19),
		padded("4", 16), padded("4", 18), padded("4", 19), padded("2200", 16), padded("2204", 17), padded("51", 16), padded("2720", 16),
		padded("6011", 16), padded("644", 19), padded("65", 16), padded("62", 17), padded("62", 19), padded("50", 14), padded("56", 15), padded("67", 18),
	}
	for _, ofNetwork := range sandboxCards {
		numbers = append(numbers, ofNetwork...)
	}
	for _, number := range numbers {
		if got, divided := domain.FindCardNumber("paid with "+number+", thanks", false); got != number || divided {
			t.Errorf("%s is not found in a text", number)
		}
		for _, divider := range []string{" ", "-", ".", "_", "/", "\u00a0", "–"} {
			groups, rest := []string(nil), number
			for _, n := range printed[len(number)] {
				groups, rest = append(groups, rest[:n]), rest[n:]
			}
			if groups == nil { // no card prints 17 or 18 digits
				continue
			}
			text := "paid with " + strings.Join(groups, divider) + ", thanks"
			if got, divided := domain.FindCardNumber(text, true); got != number || !divided {
				t.Errorf("%q hides a card number", text)
			}
		}
	}
}

// identifiers returns ids in forms that merchants use. No id contains a divided card number.
var identifiers = map[string]func(*rand.Rand) string{
	"order-<random decimal>": func(r *rand.Rand) string { return "order-" + strconv.FormatFloat(r.Float64(), 'g', -1, 64) },
	"UUID": func(r *rand.Rand) string {
		var b [16]byte
		r.Read(b[:])
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	},
	"16 digits":        func(r *rand.Rand) string { return fmt.Sprintf("%016d", r.Int63n(1e16)) },
	"time and counter": func(r *rand.Rand) string { return fmt.Sprintf("%d-%d", 1_700_000_000_000+r.Int63n(1e11), r.Intn(1e6)) },
	"date and 8 digits": func(r *rand.Rand) string {
		return fmt.Sprintf("2026%02d%02d%08d", 1+r.Intn(12), 1+r.Intn(28), r.Intn(1e8))
	},
	"prefix_<16 digits>": func(r *rand.Rand) string { return fmt.Sprintf("ord_%016d", r.Int63n(1e16)) },
}

// TestIdentifiersAreNoCards: of 100,000 ids of each kind none is refused where ids belong, and
// decimals and UUIDs are none in free text either (D21).
func TestIdentifiersAreNoCards(t *testing.T) {
	for kind, make := range identifiers {
		r := rand.New(rand.NewSource(21))
		for range 100_000 {
			id := make(r)
			if number, _ := domain.FindCardNumber(id, true); number != "" {
				t.Fatalf("%s: %s is refused", kind, id)
			}
			if (kind == "order-<random decimal>" || kind == "UUID") && domain.HoldsCardNumber(id) {
				t.Fatalf("%s: %s is refused in free text", kind, id)
			}
		}
	}
}

// TestNoTimestampIsACard: no time in milliseconds is taken for a card number.
func TestNoTimestampIsACard(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 9_999_999_999_999).Draw(t, "ms")
		if text := "at " + strconv.FormatInt(ms, 10); domain.HoldsCardNumber(text) {
			t.Fatalf("%q is taken for a card number", text)
		}
	})
}
