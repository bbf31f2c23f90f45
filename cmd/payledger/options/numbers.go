package options

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Parsing reads the numbers and durations of flags, and collects their faults: the parser itself
// would end at the first one.
type Parsing struct {
	faults map[string]string // by the name of the flag
}

// Option returns the option of the parser that reads numbers as people write them: decimal digits,
// perhaps after a minus. The parser's own readers take 0250 for an octal number, which is 168,
// 1_000 and 0x10 for numbers, and nan and inf for fractions.
func (p *Parsing) Option() kong.Option {
	p.faults = map[string]string{}
	return kong.OptionFunc(func(parser *kong.Kong) error {
		for kind, read := range map[reflect.Kind]reader{
			reflect.Int: decimal, reflect.Int64: decimal, reflect.Uint64: decimal, reflect.Float64: fraction,
		} {
			if err := kong.KindMapper(kind, p.mapper(read)).Apply(parser); err != nil {
				return fmt.Errorf("options: %w", err)
			}
		}
		if err := kong.TypeMapper(reflect.TypeFor[time.Duration](), p.mapper(duration)).Apply(parser); err != nil {
			return fmt.Errorf("options: %w", err)
		}
		return nil
	})
}

type reader func(text string, target reflect.Value) error

func (p *Parsing) mapper(read reader) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		token, err := ctx.Scan.PopValue("number")
		if err != nil {
			return err //nolint:wrapcheck // the parser's own words
		}
		if err := read(fmt.Sprint(token.Value), target); err != nil {
			p.faults[ctx.Value.Name] = err.Error()
		}
		return nil
	}
}

func decimal(text string, target reflect.Value) error {
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return fmt.Errorf("expected a whole number in decimal digits, such as 1000, but got %q", text)
	}
	if len(digits) > 1 && digits[0] == '0' {
		return fmt.Errorf("expected a number without leading zeros, such as %s, but got %q", strings.TrimLeft(digits[:len(digits)-1], "0")+digits[len(digits)-1:], text)
	}
	if !target.CanInt() {
		n, err := strconv.ParseUint(text, 10, target.Type().Bits())
		if err != nil || negative {
			return fmt.Errorf("expected a number from 0 to %d, but got %q", uint64(1<<target.Type().Bits()-1), text)
		}
		target.SetUint(n)
		return nil
	}
	n, err := strconv.ParseInt(text, 10, target.Type().Bits())
	if err != nil {
		return fmt.Errorf("expected a number of at most %d bits, but got %q", target.Type().Bits(), text)
	}
	target.SetInt(n)
	return nil
}

var decimalFraction = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func fraction(text string, target reflect.Value) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimalFraction.MatchString(text) || math.IsInf(n, 0) {
		return fmt.Errorf("expected a number in decimal digits, such as 100 or 0.5, but got %q", text)
	}
	target.SetFloat(n)
	return nil
}

func duration(text string, target reflect.Value) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("expected a duration such as 90s, 5m or 24h, but got %q", text)
	}
	target.SetInt(int64(d))
	return nil
}
