package checkout

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/httpapi/checkout/locale"
)

// Payment is the content of the payment page (D12).
type Payment struct {
	Merchant
	Brand
	Amount    domain.Amount
	Currency  domain.Currency
	OrderID   string
	Order     *domain.Order
	Manual    bool   // the merchant approves each attempt (§3.3)
	ReturnURL string // the address after the payment (D4); "" for none
	Sandbox   bool
	TestCards bool             // the cards of the simulator are offered
	PaymentID domain.PaymentID // the order's existing payment; "" for none
	AttemptID domain.AttemptID // the attempt that waits for approval; "" for none
	Saved     []SavedCard
	Embed     string           // the origin of the shop's page that shows this one in a frame; "" for none
	Keeps     bool             // a card that pays is vaulted (D5.5)
	Networks  []domain.Network // of cards that can pay, in this order; none: all (D21)

	OldestMonth time.Time // the oldest month of expiry with which a card is still valid
}

// Merchant is the merchant's name for customers; "" for none.
type Merchant string

// Shop returns the name or "The shop".
func (m Merchant) Shop() string { return cmp.Or(string(m), "The shop") }

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
	Extra    bool // the name is a message of the page, and not the merchant's
	Quantity int64
	Amount   domain.Amount
}

// Minor returns the amount for the page's script, in minor units.
func (v Payment) Minor() string { return strconv.FormatInt(int64(v.Amount), 10) }

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
		lines = append(lines, line("Item", sum-item.DiscountAmount, quantity, item.Name, item.Description, item.ItemID))
	}
	return append(lines, v.extras()...)
}

func (v Payment) extras() (lines []Line) {
	add := func(usual string, a domain.Amount, names ...string) {
		if a != 0 {
			lines = append(lines, line(usual, a, 1, names...))
		}
	}
	tax := domain.Amount(0)
	for _, item := range v.Order.LineItems {
		tax += item.TaxAmount
	}
	add("Tax", tax)
	if v.Order.Shipping != nil {
		add("Shipping", v.Order.Shipping.Price(), v.Order.Shipping.MethodName)
	}
	for _, fee := range v.Order.Fees {
		add("Fee", fee.Amount, fee.Description)
	}
	return lines
}

// line returns a position by the first name that the merchant has given it, or else by its usual
// one.
func line(usual string, a domain.Amount, quantity int64, names ...string) Line {
	name := cmp.Or(names...)
	return Line{cmp.Or(name, usual), name == "", quantity, a}
}

// Takes lists the card networks that can pay; "" for all.
func (v Payment) Takes() string {
	names := make([]string, len(v.Networks))
	for i, network := range v.Networks {
		names[i] = cmp.Or(brands[network], string(network))
	}
	return strings.Join(names, ", ")
}

// Brand returns the network's name for customers; "" if it has none.
func (c SavedCard) Brand() string { return brands[c.Network] }

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
func (p *Pages) Payment(l *locale.Locale, v Payment) (Document, error) {
	if u, err := url.Parse(v.ReturnURL); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		v.ReturnURL = "" // the script must open web addresses only
	}
	return p.render(l, http.StatusOK, "pay.html", action(l, v)+" · "+shop(l, v, "{shop}", "The shop"), v)
}

// Challenge is the content of the sandbox's 3-D Secure page.
type Challenge struct {
	Merchant
	Amount   domain.Amount
	Currency domain.Currency
	Network  domain.Network
	Last4    string
	Embed    string // as in Payment
}

// Brand returns the network's name.
func (v Challenge) Brand() string { return cmp.Or(brands[v.Network], "Card") }

// Challenge returns the page that simulates the issuer's check of the customer (D13). It is for
// those who try the sandbox, in English.
func (p *Pages) Challenge(l *locale.Locale, v Challenge) (Document, error) {
	return p.render(l, http.StatusOK, "challenge.html", "3-D Secure check · "+v.Shop(), v)
}

// Leave returns the page that sends the customer to the processor's page of an action. address is a
// web address.
func (p *Pages) Leave(l *locale.Locale, address string) (Document, error) {
	return p.render(l, http.StatusOK, "leave.html", l.Say("3-D Secure check"), struct{ Address string }{address})
}

// Return returns the page to which the processor sends the customer back after an action. Its
// address names no account, so any page may frame it: it shows nothing, takes no click that counts,
// and leads to the payment page, which allows its own origin only.
func (p *Pages) Return(l *locale.Locale) (Document, error) {
	d, err := p.render(l, http.StatusOK, "return.html", l.Say("3-D Secure check"), nil)
	return d.FramedBy(anyAncestors), err
}

// restored is a page that opens another page of the same tab; its notice is for a tab without one.
type restored struct {
	Notice
	Over bool
}

// Restore returns the page for a reload: its script opens the address with the token of the tab. As
// with Return, any page may frame it.
func (p *Pages) Restore(l *locale.Locale) (Document, error) {
	d, err := p.render(l, http.StatusOK, "restore.html", l.Say("Checkout"), restored{Notice: lost})
	return d.FramedBy(anyAncestors), err
}

// ChallengeOver returns the page of a check that has ended: its script opens the payment.
func (p *Pages) ChallengeOver(l *locale.Locale) (Document, error) {
	return p.render(l, http.StatusBadRequest, "restore.html", l.Say(done.Title), restored{done, true})
}
