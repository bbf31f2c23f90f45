package checkout

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
)

// Payment is the content of the payment page (D12).
type Payment struct {
	Merchant
	Amount    domain.Amount
	Currency  domain.Currency
	OrderID   string
	Order     *domain.Order
	Manual    bool   // the merchant approves each attempt (§3.3)
	ReturnURL string // the address after the payment (D4); "" for none
	Sandbox   bool
	PaymentID domain.PaymentID // the order's existing payment; "" for none
	AttemptID domain.AttemptID // the attempt that waits for approval; "" for none
	Saved     []SavedCard
	Keeps     bool             // a card that pays is vaulted (D5.5)
	Networks  []domain.Network // of cards that can pay, in this order; none: all (D21)

	OldestMonth time.Time // the oldest month of expiry with which a card is still valid
}

// Merchant is the merchant's name for customers; "" for none.
type Merchant string

// Shop returns the name or "The shop", for the beginning of a sentence.
func (m Merchant) Shop() string { return cmp.Or(string(m), "The shop") }

// ShopWithin returns the name or "the shop", for use within a sentence.
func (m Merchant) ShopWithin() string { return cmp.Or(string(m), "the shop") }

// SavedCard is a vaulted card of the customer; the default comes first.
type SavedCard struct {
	Token           domain.Token
	Network         domain.Network
	Last4           string
	ExpirationMonth string
	ExpirationYear  string
}

// Line is a position of the order.
type Line struct {
	Name     string
	Quantity int64
	Amount   string
}

// Total returns the amount for customers.
func (v Payment) Total() string { return Money(v.Amount, v.Currency) }

// Minor returns the amount for the page's script, in minor units.
func (v Payment) Minor() string { return strconv.FormatInt(int64(v.Amount), 10) }

// Action returns the label of the button. An amount of 0 only verifies the card (D5.9).
func (v Payment) Action() string {
	if v.Amount == 0 {
		return "Verify card"
	}
	return "Pay " + v.Total()
}

// Lines returns the order's positions and extras.
func (v Payment) Lines() (lines []Line) {
	if v.Order == nil {
		return nil
	}
	for _, item := range v.Order.LineItems {
		quantity := int64(1)
		if item.Quantity != nil {
			quantity = *item.Quantity
		}
		sum, fits := item.Amount.Times(quantity)
		if !fits {
			continue
		}
		lines = append(lines, Line{cmp.Or(item.Name, item.Description, item.ItemID, "Item"), quantity, Money(sum-item.DiscountAmount, v.Currency)})
	}
	return append(lines, v.extras()...)
}

func (v Payment) extras() (lines []Line) {
	add := func(name string, a domain.Amount) {
		if a != 0 {
			lines = append(lines, Line{name, 1, Money(a, v.Currency)})
		}
	}
	tax := domain.Amount(0)
	for _, item := range v.Order.LineItems {
		tax += item.TaxAmount
	}
	add("Tax", tax)
	if v.Order.Shipping != nil {
		add(cmp.Or(v.Order.Shipping.MethodName, "Shipping"), v.Order.Shipping.Amount)
	}
	for _, fee := range v.Order.Fees {
		add(cmp.Or(fee.Description, "Fee"), fee.Amount)
	}
	return lines
}

// Takes lists the card networks that can pay; "" for all.
func (v Payment) Takes() string {
	names := make([]string, len(v.Networks))
	for i, network := range v.Networks {
		names[i] = cmp.Or(brands[network], string(network))
	}
	return strings.Join(names, ", ")
}

// Brand returns the network's name for customers.
func (c SavedCard) Brand() string {
	return cmp.Or(brands[c.Network], "Card")
}

// Expiry returns the expiry as printed on the card: "03 / 30".
func (c SavedCard) Expiry() string {
	return c.ExpirationMonth + " / " + strings.TrimPrefix(c.ExpirationYear, "20")
}

// brands are the networks' names, short enough for a field.
var brands = map[domain.Network]string{
	domain.NetworkAmex: "Amex", domain.NetworkDiners: "Diners", domain.NetworkDiscover: "Discover",
	domain.NetworkJCB: "JCB", domain.NetworkMaestro: "Maestro", domain.NetworkMastercard: "Mastercard",
	domain.NetworkMir: "Mir", domain.NetworkUnionPay: "UnionPay", domain.NetworkVisa: "Visa",
}

// Payment returns the page with the card form, the steps that follow it, and their result.
func (p *Pages) Payment(v Payment) (Document, error) {
	if u, err := url.Parse(v.ReturnURL); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		v.ReturnURL = "" // the script must open web addresses only
	}
	return p.render(http.StatusOK, "pay.html", v.Action()+" · "+v.Shop(), v)
}

// Challenge is the content of the sandbox's 3-D Secure page.
type Challenge struct {
	Merchant
	Amount   domain.Amount
	Currency domain.Currency
	Network  domain.Network
	Last4    string
}

// Total returns the amount for customers.
func (v Challenge) Total() string { return Money(v.Amount, v.Currency) }

// Brand returns the network's name.
func (v Challenge) Brand() string { return SavedCard{Network: v.Network}.Brand() }

// Challenge returns the page that simulates the issuer's check of the customer (D13).
func (p *Pages) Challenge(v Challenge) (Document, error) {
	return p.render(http.StatusOK, "challenge.html", "3-D Secure check · "+v.Shop(), v)
}

// Leave returns the page that sends the customer to the processor's page of an action. address is a
// web address.
func (p *Pages) Leave(address string) (Document, error) {
	return p.render(http.StatusOK, "leave.html", "3-D Secure check", struct{ Address string }{address})
}

// Return returns the page to which the processor sends the customer back after an action.
func (p *Pages) Return() (Document, error) {
	return p.render(http.StatusOK, "return.html", "3-D Secure check", nil)
}

// restored is a page that opens another page of the same tab; its notice is for a tab without one.
type restored struct {
	Notice
	Over bool
}

// Restore returns the page for a reload: its script opens the address with the token of the tab.
func (p *Pages) Restore() (Document, error) {
	return p.render(http.StatusOK, "restore.html", "Checkout", restored{Notice: lost})
}

// ChallengeOver returns the page of a check that has ended: its script opens the payment.
func (p *Pages) ChallengeOver() (Document, error) {
	return p.render(http.StatusBadRequest, "restore.html", done.Title, restored{done, true})
}
