package validation

import (
	"fmt"
	"iter"
	"net/url"
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

// scans has the fields that are not free text, by the path of a shape.
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

// cardFault returns the violation of a text that holds a card number, "" if it holds none. It does
// not repeat the number.
func cardFault(text string, how scan) string {
	if len(text) < shortestCard || how == scanNothing {
		return ""
	}
	if how != scanURL {
		return cardFaultOf(text, how == scanIdentifier)
	}
	for part := range urlTexts(text) {
		if fault := cardFaultOf(part, false); fault != "" {
			return fault
		}
	}
	return ""
}

func cardFaultOf(text string, onlyDivided bool) string {
	number, divided := domain.FindCardNumber(text, onlyDivided)
	if number == "" {
		return ""
	}
	network, _ := domain.CardNetwork(number)
	form := "in a row"
	if divided {
		form = "divided as on a card"
	}
	return fmt.Sprintf(noCardNumber+": it holds %d digits %s, with a prefix of %s and a right check digit", len(number), form, network)
}

const urlDecodings = 3 // the number of times that a URL is percent-decoded to search it

// urlTexts yields the free-text parts of a URL, as sent and after each decoding. Full-width digits
// become digits.
func urlTexts(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for range urlDecodings + 1 {
			for part := range urlParts(norm.NFKC.String(text)) {
				if !yield(part) {
					return
				}
			}
			decoded, err := url.PathUnescape(text)
			if err != nil || decoded == text {
				return
			}
			text = decoded
		}
	}
}

func urlParts(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		u, err := url.Parse(text)
		if err != nil {
			yield(text)
			return
		}
		for label := range strings.SplitSeq(u.Hostname(), ".") {
			if !yield(label) {
				return
			}
		}
		password, _ := u.User.Password()
		for _, part := range [...]string{u.Path, u.Opaque, u.RawQuery, queryText(u.RawQuery), u.Fragment, u.User.Username(), password} {
			if part != "" && !yield(part) {
				return
			}
		}
	}
}

// queryText decodes a query whole: the signs between its names and values are part of no number.
// Broken escapes stay.
func queryText(query string) string {
	if !strings.ContainsAny(query, "+%") {
		return ""
	}
	query = strings.ReplaceAll(query, "+", " ")
	if whole, err := url.PathUnescape(query); err == nil {
		return whole
	}
	var b strings.Builder
	for pair := range strings.SplitSeq(query, "&") {
		if decoded, err := url.PathUnescape(pair); err == nil {
			pair = decoded
		}
		b.WriteString(pair + "&")
	}
	return b.String()
}
