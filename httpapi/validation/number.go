package validation

import (
	"math"
	"strconv"
	"strings"

	"payledger/domain"
)

// plainDigits is how many characters of an integer fit a float64 without a second look.
const plainDigits = 15

// number reads a number. The schema looks at float64s, so it must never see a whole number where a fraction
// was sent, nor another integer than the one sent, within the limits of the contract (§8).
func (p *parser) number() (any, error) {
	start := p.at
	plain, ok := p.skipNumber()
	if !ok {
		return nil, p.wrong()
	}
	text := string(p.text[start:p.at])
	if plain && len(text) <= plainDigits {
		n, err := strconv.ParseInt(text, 10, 64)
		return float64(n), err
	}
	digits, kind := integer(text, maxDigits)
	if kind == fraction {
		return inexact(text), nil
	}
	if kind == tooLarge {
		return approximate(text), nil
	}
	if !plain && !p.verbatim {
		p.edits = append(p.edits, edit{start, p.at, digits})
	}
	return approximate(digits), nil
}

// skipNumber moves behind a number of RFC 8259's grammar; plain is one without fraction and exponent.
func (p *parser) skipNumber() (plain, ok bool) {
	p.skip("-")
	if !p.skip("0") && p.skipDigits() == 0 {
		return false, false
	}
	plain = true
	if p.skip(".") {
		if plain = false; p.skipDigits() == 0 {
			return false, false
		}
	}
	if p.skip("eE") {
		plain = false
		p.skip("+-")
		if p.skipDigits() == 0 {
			return false, false
		}
	}
	return plain, true
}

// skip moves over one byte of the set, if it stands there.
func (p *parser) skip(set string) bool {
	if p.at >= len(p.text) || strings.IndexByte(set, p.text[p.at]) < 0 {
		return false
	}
	p.at++
	return true
}

func (p *parser) skipDigits() (n int) {
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
		n++
	}
	return n
}

// numberKind is what a number is whatever way it is written.
type numberKind int

const (
	whole    numberKind = iota
	fraction            // has digits behind the point
	tooLarge            // whole, and beyond every limit
)

// maxDigits is the length of the largest integer that is looked at; MaxAmount has 16 digits.
const maxDigits = 18

// integer gives the digits of a number that is whole: "1000" for 1e3 and 1000.0. One of more than most digits is too large.
// It does no arithmetic, so that 1e999999999 costs nothing.
func integer(text string, most int) (digits string, kind numberKind) {
	sign, rest := "", text
	if rest[0] == '-' {
		sign, rest = "-", rest[1:]
	}
	mantissa, exponentText := rest, "0"
	if at := strings.IndexAny(rest, "eE"); at >= 0 {
		mantissa, exponentText = rest[:at], rest[at+1:]
	}
	before, behind, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(before+behind, "0")
	if digits == "" {
		return "0", whole
	}
	exponent, err := strconv.ParseInt(exponentText, 10, 32)
	if err != nil && exponentText[0] == '-' {
		return "", fraction
	} else if err != nil {
		return "", tooLarge
	}
	significant := strings.TrimRight(digits, "0")
	zeros := int(exponent) + len(digits) - len(significant) - len(behind)
	switch {
	case zeros < 0:
		return "", fraction
	case len(significant)+zeros > most:
		return "", tooLarge
	}
	return sign + significant + strings.Repeat("0", zeros), whole
}

// approximate is the nearest float64 that is not infinite.
func approximate(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64) // an error says out of range: ±Inf
	return max(-math.MaxFloat64, min(math.MaxFloat64, f))
}

// halves is below where float64s stop having halves.
const halves = 1 << 51

// inexact is a float64 that stands for a number with a fraction. The nearest one may be whole
// (9007199254740990.5); then one with a fraction stands for it.
func inexact(text string) float64 {
	f := approximate(text)
	if f == math.Trunc(f) && math.Abs(f) <= float64(domain.MaxAmount) {
		return math.Copysign(min(math.Abs(f), halves)+0.5, f)
	}
	return f
}
