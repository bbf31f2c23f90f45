package validation

import (
	"math"
	"strconv"
	"strings"

	"payledger/domain"
)

const plainDigits = 15 // the length up to which every integer is exact as a float64

// number reads a number as a float64. Within the limits of the contract (§8) no fraction becomes
// whole, and no integer changes.
func (p *parser) number() (float64, error) {
	start := p.at
	numeral := p.skipNumber()
	if numeral == noNumber {
		return 0, p.wrongByte()
	}
	text := string(p.text[start:p.at])
	if numeral == plainNumber && len(text) <= plainDigits {
		n, err := strconv.ParseInt(text, 10, 64)
		return float64(n), err
	}
	digits, kind := integer(text, maxDigits)
	switch kind {
	case fraction:
		return inexact(text), nil
	case tooLarge:
		return approximate(text), nil
	}
	if numeral != plainNumber {
		p.replace(start, p.at, digits)
	}
	return approximate(digits), nil
}

// numeral is a kind of text.
type numeral int

const (
	noNumber    numeral = iota
	plainNumber         // without fraction and exponent
	otherNumber
)

// skipNumber skips a number of RFC 8259's grammar.
func (p *parser) skipNumber() numeral {
	if p.at < len(p.text) && p.text[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.text) && p.text[p.at] == '0' {
		p.at++
	} else if p.skipDigits() == 0 {
		return noNumber
	}
	if p.at >= len(p.text) || p.text[p.at] != '.' && p.text[p.at]|0x20 != 'e' {
		return plainNumber
	}
	if p.skip(".") && p.skipDigits() == 0 {
		return noNumber
	}
	if p.skip("eE") {
		p.skip("+-")
		if p.skipDigits() == 0 {
			return noNumber
		}
	}
	return otherNumber
}

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

type numberKind int

const (
	whole    numberKind = iota
	fraction            // not whole
	tooLarge            // whole, with too many digits
)

// maxDigits is the greatest number of digits of an integer; MaxAmount has 16.
const maxDigits = 18

// integer returns the digits of a whole number, most at most: "1000" for 1e3 and 1000.0. No
// arithmetic: 1e999999999 is cheap.
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

func approximate(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64) // out of range: ±Inf with an error
	return max(-math.MaxFloat64, min(math.MaxFloat64, f))
}

const halves = 1 << 51 // a bound below which a float64 can have the fraction 0.5

// inexact returns a float64 with a fraction for such a number, also if the nearest one is whole, as
// for 9007199254740990.5.
func inexact(text string) float64 {
	f := approximate(text)
	if f == math.Trunc(f) && math.Abs(f) <= float64(domain.MaxAmount) {
		return math.Copysign(min(math.Abs(f), halves)+0.5, f)
	}
	return f
}
