package validation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"payledger/domain"
)

// shortestCard and longestCard are the lengths of card numbers (D21), in bytes.
const (
	shortestCard = 14
	longestCard  = 19
)

const noCardNumber = "must not hold a card number"

type scan int

const (
	scanText       scan = iota // any card number is refused
	scanURL                    // any card number in the free-text parts of a URL is refused
	scanIdentifier             // only a divided card number is refused: one in 23 numbers of 16 digits looks like a card number
	scanNothing                // nothing is refused: the schema restricts the field
)

// scans has the fields that are not free text, by path. An element of an array has the path of the array.
var scans = map[string]scan{
	"$.paymentInstrument.number":            scanNothing,
	"$.paymentMethodToken":                  scanNothing,
	"$.resumeToken":                         scanNothing,
	"$.clientToken":                         scanNothing,
	"$.transactionEventId":                  scanNothing,
	"$.url":                                 scanURL,
	"$.returnUrl":                           scanURL,
	"$.actions.url":                         scanURL,
	"$.order.lineItems.productData.pageUrl": scanURL,
	"$.orderId":                             scanIdentifier,
	"$.actions.orderId":                     scanIdentifier,
	"$.customerId":                          scanIdentifier,
	"$.processorMerchantId":                 scanIdentifier,
	"$.customer.taxId":                      scanIdentifier,
	"$.customer.nationalDocumentId":         scanIdentifier,
	"$.order.shipping.methodId":             scanIdentifier,
	"$.order.lineItems.itemId":              scanIdentifier,
	"$.order.lineItems.taxCode":             scanIdentifier,
	"$.order.lineItems.productData.sku":     scanIdentifier,
	"$.order.lineItems.productData.globalTradeItemNumber":  scanIdentifier,
	"$.order.lineItems.productData.manufacturerPartNumber": scanIdentifier,
}

type place struct {
	parent *place
	name   string // of a field; "" for an element
	index  int
}

// path returns the path of the place. Paths of violations have indexes; paths of scans have none.
func (p *place) path(indexes bool) string {
	switch {
	case p == nil:
		return "$"
	case p.name != "" || p.index < 0:
		return p.parent.path(indexes) + Member(p.name)
	case indexes:
		return p.parent.path(indexes) + "[" + strconv.Itoa(p.index) + "]"
	default:
		return p.parent.path(indexes)
	}
}

// inMetadata reports whether the place is in metadata, where numbers are searched, too.
func (p *place) inMetadata() bool {
	for ; p != nil; p = p.parent {
		if p.name == "metadata" {
			return true
		}
	}
	return false
}

var options = &place{&place{nil, "paymentMethod", -1}, "options", -1}

func (p *place) isOptions() bool {
	return p.name == options.name && p.parent != nil && p.parent.name == options.parent.name && p.parent.parent == nil
}

// ofText adds a violation for each card number in texts and names (D21). It skips the options, which ofOptions searches.
func (v *Violations) ofText(at *place, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			here := place{at, name, -1}
			if here.isOptions() {
				continue
			}
			if fault := cardFault(name, scanText); fault != "" {
				v.Add(here.path(true), fault)
			}
			v.ofText(&here, inner)
		}
	case []any:
		for i, inner := range value {
			v.ofText(&place{at, "", i}, inner)
		}
	case string:
		if len(value) < shortestCard {
			return
		}
		if fault := cardFault(value, scans[at.path(false)]); fault != "" {
			v.Add(at.path(true), fault)
		}
	case json.Number:
		v.ofExactNumber(at, value.String())
	case float64:
		if digits := math.Abs(value); digits < 1e13 || !at.inMetadata() {
			return
		}
		if fault := cardFault(strconv.FormatFloat(math.Abs(value), 'f', 0, 64), scanText); fault != "" {
			v.Add(at.path(true), fault)
		}
	}
}

// ofExactNumber adds a violation if a number in options is a card number, as it is written or as a whole number (4.111e15).
func (v *Violations) ofExactNumber(at *place, text string) {
	digits, _ := integer(text, longestCard)
	if fault := cmp.Or(cardFault(text, scanText), cardFault(digits, scanText)); fault != "" {
		v.Add(at.path(true), fault)
	}
}

// cardFault returns the violation of a text that holds a card number, "" if it holds none. It does not repeat the number.
func cardFault(text string, how scan) string {
	if len(text) < shortestCard || how == scanNothing {
		return ""
	}
	texts := []string{text}
	if how == scanURL {
		texts = urlTexts(text)
	}
	for _, part := range texts {
		number, divided := domain.FindCardNumber(part, how == scanIdentifier)
		if number == "" {
			continue
		}
		network, _ := domain.CardNetwork(number)
		form := "in a row"
		if divided {
			form = "divided as on a card"
		}
		return fmt.Sprintf(noCardNumber+": it holds %d digits %s, with a prefix of %s and a right check digit", len(number), form, network)
	}
	return ""
}

const urlDecodings = 3 // the number of times that a URL is percent-decoded to search it

// urlTexts returns the free-text parts of a URL, as sent and after each decoding. Full-width digits become digits.
func urlTexts(text string) (texts []string) {
	for range urlDecodings {
		texts = append(texts, urlParts(norm.NFKC.String(text))...)
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == text {
			return texts
		}
		text = decoded
	}
	return append(texts, urlParts(norm.NFKC.String(text))...)
}

func urlParts(text string) []string {
	u, err := url.Parse(text)
	if err != nil {
		return []string{text}
	}
	texts := append(strings.Split(u.Hostname(), "."), u.Path, u.Opaque, u.RawQuery, u.Fragment, u.User.Username())
	if password, set := u.User.Password(); set {
		texts = append(texts, password)
	}
	for name, values := range u.Query() {
		texts = append(append(texts, name), values...)
	}
	return texts
}
