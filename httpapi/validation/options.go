package validation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/session"
)

const maxOptionsBytes = 8 << 10

// maxOptionsChange is the greatest size of the options of a change, which may also remove fields.
const maxOptionsChange = 4 * maxOptionsBytes

// ofOptions adds violations for card numbers and control characters in options, and for options
// that are too large (D21). OptionsSize measures the options that a change leads to.
func (v *Violations) ofOptions(text domain.JSON, change bool) {
	if text == "" {
		return
	}
	most := maxOptionsBytes
	if change {
		most = maxOptionsChange
	}
	if compactSize(text) > most {
		v.Add(pathOptions, optionsTooLarge)
		return // options that are refused are not searched (D22.14)
	}
	stored := compacted(text)
	r := reader{parser: parser{rewriting: rewriting{text: []byte(stored)}}, path: slices.Clone(optionsPath), found: *v}
	_ = r.search() // the text is JSON
	*v = r.found
}

var optionsPath = []step{{"paymentMethod", -1}, {"options", -1}}

// search adds violations for card numbers (D21) and control characters (D22.5) in the texts, names
// and numbers of a value.
func (r *reader) search() error {
	at := len(r.path)
	defer func() { r.path = r.path[:at] }()
	switch r.next() {
	case '{':
		return r.members(&gaps{}, func(int) error {
			name, err := r.name()
			if err != nil {
				return err
			}
			r.path = append(r.path[:at], step{string(name), -1})
			r.searchText(string(name), false)
			return errors.Join(r.expect(':'), r.search())
		})
	case '[':
		i := -1
		return r.elements(func() error {
			i++
			r.path = append(r.path[:at], step{"", i})
			return r.search()
		})
	case '"':
		text, err := r.string()
		r.searchText(text, true)
		return err
	case 't', 'f', 'n':
		return r.skip(0, false)
	default:
		from := r.at
		err := r.skip(0, false)
		r.searchNumber(string(r.text[from:r.at]))
		return err
	}
}

func (r *reader) searchText(text string, lines bool) {
	if fault := cardFault(text, scanText); fault != "" {
		r.fault(fault)
	}
	if fault := controlFault(text, lines); fault != "" {
		r.fault(fault)
	}
}

// searchNumber looks for a card number in a number, as it is written or as a whole number
// (4.111e15).
func (r *reader) searchNumber(text string) {
	if len(text) < 3 { // too short for an exponent
		return
	}
	digits, _ := integer(text, longestCard)
	if fault := cmp.Or(cardFault(text, scanText), cardFault(digits, scanText)); fault != "" {
		r.fault(fault)
	}
}

// OptionsSize adds a violation if the stored options are too large.
func (v *Violations) OptionsSize(stored domain.JSON) {
	if len(stored) > maxOptionsBytes {
		v.Add(pathOptions, optionsTooLarge)
	}
}

const pathOptions = "$.paymentMethod.options"

var optionsTooLarge = fmt.Sprintf("must be at most %d bytes of JSON", maxOptionsBytes)

// compactSize returns the size of a JSON text without its white space.
func compactSize(text domain.JSON) (n int) {
	inside := false // a string
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inside = !inside
		case c == '\\' && inside:
			i++
			n++
		case !inside && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		n++
	}
	return n
}

// Compact returns a payment method whose options have no white space, as they are stored (D21).
func Compact(m session.Method) session.Method {
	m.Options = compacted(m.Options)
	return m
}

func compacted(text domain.JSON) domain.JSON {
	var b bytes.Buffer
	if text == "" || json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return domain.JSON(b.String())
}
