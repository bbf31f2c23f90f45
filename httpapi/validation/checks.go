package validation

import (
	"math"
	"strconv"
	"unicode/utf8"

	"payledger/domain"
)

// longestText is the greatest length of a text without a limit in its schema, in bytes. No schema
// has a limit above 4,096 characters.
const longestText = 16 << 10

func (r *reader) checkText(s *shape, text string) {
	if fault := controlFault(text, s.lines); fault != "" {
		r.fault(fault)
	}
	switch {
	case s.kinds&isText == 0:
		r.wrong(s, "type", text)
	case s.enum != nil:
		if !s.enum[text] {
			r.wrong(s, "enum", text)
		}
	case len(text) < s.minLength*utf8.UTFMax && utf8.RuneCountInString(text) < s.minLength:
		r.wrong(s, "minLength", text)
	case s.maxLength > 0 && len(text) > s.maxLength && utf8.RuneCountInString(text) > s.maxLength:
		r.wrong(s, "maxLength", text)
	case s.maxLength == 0 && len(text) > longestText:
		r.fault("must be at most " + strconv.Itoa(longestText) + " bytes long")
	}
	if len(text) > longestText {
		return // a longer text is refused already: it is not searched
	}
	if s.pattern != nil && s.kinds&isText != 0 && !s.pattern.MatchString(text) {
		r.wrong(s, "pattern", text)
	}
	if fault := cardFault(text, s.scan); fault != "" {
		r.fault(fault)
	}
}

func (r *reader) checkNumber(s *shape, n float64) {
	fits := s.kinds&isNumber != 0 || s.kinds&isWhole != 0 && n == math.Trunc(n)
	if !fits || s.enum != nil || s.min != nil && n < *s.min || s.max != nil && n > *s.max {
		r.wrong(s, "type", n)
	}
	if s.digits && math.Abs(n) >= leastCardNumber {
		if fault := cardFault(strconv.FormatFloat(math.Abs(n), 'f', 0, 64), scanText); fault != "" {
			r.fault(fault)
		}
	}
}

func (r *reader) checkBool(s *shape) {
	if s.kinds&isBool == 0 {
		r.wrong(s, "type", nil)
	}
}

func (r *reader) checkNull(s *shape) {
	if s.kinds&isNull == 0 {
		r.wrong(s, "nullable", nil)
	}
}

// wrong adds the violation of a rule of the schema at the current place.
func (r *reader) wrong(s *shape, rule string, value any) {
	switch {
	case len(s.schema.AnyOf) > 0:
		rule = "anyOf"
	case s.enum != nil:
		rule = "enum"
	}
	r.fault(describe(s.schema, rule, value))
}

// leastCardNumber is a bound below every card number.
const leastCardNumber = 1e13

// controlFault returns the violation of a text with a control character (D22.5), "" if it has none.
// lines allows tabs and line ends.
func controlFault(text string, lines bool) string {
	if c, found := domain.ControlCharacter(text, lines); found {
		return "must not hold the control character U+" + domain.CodePoint(c)
	}
	return ""
}
