package httpapi

import (
	"math"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"payledger/domain"
)

// The lengths of card numbers (D1).
const (
	shortestCard = 14
	longestCard  = 19
)

// noCardNumber is what a field that holds one is told; the number is not repeated.
const noCardNumber = "must not hold a card number"

// notFreeText are the fields that are no free text (D1): looking for card numbers in them would refuse good
// ids and addresses. Elements of arrays are named like their array.
var notFreeText = map[string]bool{
	"$.paymentInstrument.number": true,
	"$.paymentMethodToken":       true,
	"$.resumeToken":              true,
	"$.clientToken":              true,
	"$.transactionEventId":       true,
	"$.order.lineItems.productData.globalTradeItemNumber": true,
}

// urls are the fields that hold a URL. They stand in the log, so each part of a URL is looked at by itself.
var urls = map[string]bool{
	"$.url":                                 true,
	"$.actions.url":                         true,
	"$.returnUrl":                           true,
	"$.order.lineItems.productData.pageUrl": true,
}

// place is where a value stands in a tree. It is written out only where a violation is.
type place struct {
	parent *place
	name   string // of a field; "" for an element
	index  int
}

// path writes the place as violations do; without indexes as notFreeText does.
func (p *place) path(indexes bool) string {
	switch {
	case p == nil:
		return "$"
	case p.name != "" || p.index < 0:
		return p.parent.path(indexes) + member(p.name)
	case indexes:
		return p.parent.path(indexes) + "[" + strconv.Itoa(p.index) + "]"
	default:
		return p.parent.path(indexes)
	}
}

// inMetadata: the one place where numbers are free text too, in a body of its own or in a routing rule.
func (p *place) inMetadata() bool {
	for ; p != nil; p = p.parent {
		if p.name == "metadata" {
			return true
		}
	}
	return false
}

// ofText refuses card numbers in free-form fields (D1), wherever they stand, and in names.
func (v *violations) ofText(at *place, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			here := place{at, name, -1}
			if suspect(name) {
				v.add(here.path(true), noCardNumber)
			}
			v.ofText(&here, inner)
		}
	case []any:
		for i, inner := range value {
			v.ofText(&place{at, "", i}, inner)
		}
	case string:
		if holdsCard(at, value) {
			v.add(at.path(true), noCardNumber)
		}
	case float64:
		if digits := math.Abs(value); digits >= 1e13 && at.inMetadata() && suspect(strconv.FormatFloat(digits, 'f', 0, 64)) {
			v.add(at.path(true), noCardNumber)
		}
	}
}

func suspect(text string) bool { return len(text) >= shortestCard && domain.HoldsCardNumber(text) }

// holdsCard tells whether a text that stands there holds a card number where it may not.
func holdsCard(at *place, text string) bool {
	if len(text) < shortestCard {
		return false
	}
	path := at.path(false)
	if urls[path] {
		return suspectURL(text)
	}
	return suspect(text) && !notFreeText[path]
}

// suspectURL looks into each part of a URL: its user, host, path, query and fragment, as they are written, and as they
// read once or twice decoded. Full-width digits are digits.
func suspectURL(text string) bool {
	for range urlDecodings {
		if suspectParts(norm.NFKC.String(text)) {
			return true
		}
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == text {
			return false
		}
		text = decoded
	}
	return suspectParts(norm.NFKC.String(text))
}

// urlDecodings is how often a URL is percent-decoded to look for card numbers.
const urlDecodings = 3

func suspectParts(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return suspect(text)
	}
	texts := []string{u.Host, u.Path, u.Opaque, u.RawQuery, u.Fragment, u.User.String()}
	for name, values := range u.Query() {
		texts = append(append(texts, name), values...)
	}
	return slices.ContainsFunc(texts, suspect)
}
