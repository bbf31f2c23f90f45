package options

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// DecimalNumbers returns the option of the parser that reads the whole numbers of flags as people write them: decimal digits, perhaps after a
// minus. The parser's own reader takes 0250 for an octal number, which is 168, and 1_000 and 0x10 for numbers.
func DecimalNumbers() kong.Option {
	return kong.OptionFunc(func(parser *kong.Kong) error {
		for _, one := range []any{int(0), int64(0), uint64(0)} {
			if err := kong.KindMapper(reflect.TypeOf(one).Kind(), kong.MapperFunc(decimal)).Apply(parser); err != nil {
				return fmt.Errorf("options: %w", err)
			}
		}
		return nil
	})
}

func decimal(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("number")
	if err != nil {
		return err //nolint:wrapcheck // the parser's own words
	}
	text := fmt.Sprint(token.Value)
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
