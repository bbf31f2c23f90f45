package domain_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
)

// sandboxCards are the numbers of D13 with their networks.
var sandboxCards = map[domain.Network][]string{
	domain.NetworkVisa: {
		"4111111111111111", "4242424242424242", "4035500000000000", "4970000000000008", "4000000000000002",
		"4000000000009995", "4000000000009987", "4000000000000069", "4000000000000010", "4916994064252017",
		"4929251897047956", "4716429323842524", "4000000000003220", "4000000000006470", "4000000000000259",
		"4000000000005126", "4000000000005142", "4000000000005159", "4000000000005175", "4000000000005266",
	},
	domain.NetworkMastercard: {
		"5252525252525258", "5555555555554444", "5132000000000000", "5100000000000008", "5100000000000016",
		"5306889942833340", "5512459816707531", "5487971631330522",
	},
	domain.NetworkAmex:     {"378282246310005"},
	domain.NetworkDiscover: {"6011111111111117"},
	domain.NetworkJCB:      {"3530111333300000"},
}

func TestSandboxCards(t *testing.T) {
	for network, numbers := range sandboxCards {
		for _, number := range numbers {
			if got, known := domain.CardNetwork(number); !known || got != network {
				t.Errorf("%s is of %s, not %s", number, got, network)
			}
			if !domain.ValidCardNumber(number) || !domain.HoldsCardNumber(number) {
				t.Errorf("%s is not taken for a card number", number)
			}
		}
	}
}

// checked appends the check digit.
func checked(body string) string {
	for d := range 10 {
		if number := body + strconv.Itoa(d); domain.Luhn(number) {
			return number
		}
	}
	panic("no check digit fits " + body)
}

// padded makes a number of n digits from a prefix.
func padded(prefix string, n int) string {
	return checked(prefix + strings.Repeat("0", n-1-len(prefix)))
}

// TestNetworks walks the borders of the prefixes.
func TestNetworks(t *testing.T) {
	rows := []struct {
		number string
		want   domain.Network
	}{
		{padded("34", 15), domain.NetworkAmex}, {padded("37", 15), domain.NetworkAmex},
		{padded("300", 14), domain.NetworkDiners}, {padded("305", 16), domain.NetworkDiners},
		{padded("36", 14), domain.NetworkDiners}, {padded("39", 19), domain.NetworkDiners},
		{padded("3528", 16), domain.NetworkJCB}, {padded("3589", 19), domain.NetworkJCB},
		{padded("4", 16), domain.NetworkVisa}, {padded("4", 18), domain.NetworkVisa}, {padded("4", 19), domain.NetworkVisa},
		{padded("2200", 16), domain.NetworkMir}, {padded("2204", 19), domain.NetworkMir},
		{padded("51", 16), domain.NetworkMastercard}, {padded("55", 16), domain.NetworkMastercard},
		{padded("2221", 16), domain.NetworkMastercard}, {padded("2720", 16), domain.NetworkMastercard},
		{padded("6011", 16), domain.NetworkDiscover}, {padded("644", 19), domain.NetworkDiscover},
		{padded("649", 16), domain.NetworkDiscover}, {padded("65", 16), domain.NetworkDiscover},
		{padded("62", 16), domain.NetworkUnionPay}, {padded("62", 19), domain.NetworkUnionPay},
		{padded("50", 14), domain.NetworkMaestro}, {padded("56", 19), domain.NetworkMaestro},
		{padded("58", 15), domain.NetworkMaestro}, {padded("67", 16), domain.NetworkMaestro},
	}
	for _, row := range rows {
		if got, known := domain.CardNetwork(row.number); !known || got != row.want {
			t.Errorf("%s is of %s (%v), not %s", row.number, got, known, row.want)
		}
	}
	none := []string{
		padded("34", 16), padded("306", 14), padded("4", 15), padded("4", 17), padded("51", 17), padded("2220", 16),
		padded("2721", 16), padded("2205", 16), padded("1", 16), padded("9", 16), padded("0", 16), padded("3527", 16), "", "4",
	}
	for _, number := range none {
		if got, known := domain.CardNetwork(number); known || got != domain.NetworkOther {
			t.Errorf("%q is of %s", number, got)
		}
		if domain.ValidCardNumber(number) {
			t.Errorf("%q is taken for a card number", number)
		}
	}
}

// TestLuhn: one wrong digit is always noticed.
func TestLuhn(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		number := []byte(checked(rapid.StringMatching(`[0-9]{13,18}`).Draw(t, "body")))
		at := rapid.IntRange(0, len(number)-1).Draw(t, "at")
		number[at] = '0' + (number[at]-'0'+byte(rapid.IntRange(1, 9).Draw(t, "by")))%10
		if domain.Luhn(string(number)) {
			t.Fatalf("%s passes with a wrong digit at %d", number, at)
		}
	})
}

// TestNewCard checks that a card keeps only its public digits: eight leading digits need at least
// 16 in all (§2.2).
func TestNewCard(t *testing.T) {
	rows := []struct{ number, first, last string }{
		{"4111111111111111", "41111111", "1111"},
		{"378282246310005", "378282", "0005"},
		{"30569309025904", "305693", "5904"},
	}
	for _, row := range rows {
		network, _ := domain.CardNetwork(row.number)
		want := domain.Card{
			First6Digits: row.number[:6], FirstDigits: row.first, Last4Digits: row.last,
			ExpirationMonth: "12", ExpirationYear: "2030", Network: network, CVVAvailable: true,
		}
		if got := domain.NewCard(row.number, "12", "2030", true); got != want {
			t.Errorf("%s is kept as %+v", row.number, got)
		}
	}
}

func TestCVVLength(t *testing.T) {
	if domain.NetworkAmex.CVVLength() != 4 || domain.NetworkVisa.CVVLength() != 3 || domain.NetworkOther.CVVLength() != 3 {
		t.Error("Amex prints four digits, the others three (D13)")
	}
}

// TestCardExpired checks that a card is valid until its month has ended in every time zone, and
// that the oldest valid month ends at the same moment.
func TestCardExpired(t *testing.T) {
	end := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		month, year string
		now         time.Time
		expired     bool
		oldest      string
	}{
		{"11", "2026", end.Add(-12 * time.Hour), false, "2026-11"}, {"11", "2026", end.Add(-1), false, "2026-11"},
		{"11", "2026", end, true, "2026-12"}, {"12", "2026", end, false, "2026-12"}, {"10", "2026", end.Add(-1), true, "2026-11"},
		{"12", "2025", end, true, "2026-12"}, {"01", "2027", end, false, "2026-12"}, {"12", "2026", end.AddDate(0, 1, 0), true, "2027-01"},
		{"11", "2026", end.In(time.FixedZone("", -12*60*60)), true, "2026-12"}, {"13", "2020", end, false, "2026-12"}, {"", "2020", end, false, "2026-12"},
	} {
		if got, oldest := domain.CardExpired(c.month, c.year, c.now), domain.OldestMonth(c.now).Format("2006-01"); got != c.expired || oldest != c.oldest {
			t.Errorf("%s/%s at %s: %v, oldest %s", c.month, c.year, c.now, got, oldest)
		}
	}
}
