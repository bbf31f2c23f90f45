package demo

import (
	"crypto/rand"
	"strings"
	"sync"
)

// article is something that the shop sells; Price in minor units of EUR.
type article struct {
	SKU, Name, About string
	Price            int64
}

// articles are the whole shop.
var articles = []article{
	{"notebook", "Notebook", "A5, dotted, 192 pages", 1250},
	{"pen", "Fountain pen", "Steel nib, in blue", 8000},
	{"lamp", "Desk lamp", "Warm light, on a clamp", 4900},
}

// line is an article with how many of it.
type line struct {
	article
	Quantity int64
}

// purchase is one customer's, with what webhooks told of its payment.
type purchase struct {
	ID    string
	Lines []line
	Paid  webhook // the newest; its payment has no id before the first
	News  int     // counts the changes
}

// Sum is what the line costs, in minor units of EUR.
func (l line) Sum() int64 { return l.Price * l.Quantity }

// Total is what the order costs, in minor units of EUR.
func (p purchase) Total() (sum int64) {
	for _, l := range p.Lines {
		sum += l.Sum()
	}
	return sum
}

// Settled tells whether the webhooks told how the payment ended.
func (p purchase) Settled() bool {
	return p.Paid.Payment.ID != "" && p.Paid.Payment.Status != "PENDING"
}

// Good tells whether the goods may leave.
func (p purchase) Good() bool {
	switch p.Paid.Payment.Status {
	case "AUTHORIZED", "SETTLING", "PARTIALLY_SETTLED", "SETTLED":
		return true
	}
	return false
}

// Charged reports whether money was captured. An authorization only reserves it.
func (p purchase) Charged() bool { return p.Good() && p.Paid.Payment.Status != "AUTHORIZED" }

// orders are the shop's books, in memory.
type orders struct {
	mu      sync.Mutex
	all     map[string]purchase
	changed chan struct{} // closed at the next change
}

func newOrders() *orders { return &orders{all: map[string]purchase{}, changed: make(chan struct{})} }

// take writes an order down, under a name that nobody guesses: it opens the receipt.
func (o *orders) take(lines []line) purchase {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := purchase{ID: "order-" + strings.ToLower(rand.Text()[:12]), Lines: lines}
	o.all[p.ID] = p
	return p
}

// find gives an order as it is now, and what is closed when any changes.
func (o *orders) find(id string) (p purchase, changed <-chan struct{}, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, known = o.all[id]
	return p, o.changed, known
}

// tell notes what a webhook told of an order's payment. Webhooks come in any order and more than once (§6.1): of
// one payment the highest sequence is the newest; a customer may try several cards, and one that paid stays.
func (o *orders) tell(id string, h webhook) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, known := o.all[id]
	same := p.Paid.Payment.ID == h.Payment.ID
	if !known || same && h.Sequence <= p.Paid.Sequence || !same && p.Good() {
		return
	}
	p.Paid, p.News = h, p.News+1
	o.all[id] = p
	close(o.changed)
	o.changed = make(chan struct{})
}
