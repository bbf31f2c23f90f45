package demo

import (
	"crypto/rand"
	"strings"
	"sync"
)

// article is an article of the shop; Price is in minor units of EUR.
type article struct {
	SKU, Name, About string
	Price            int64
}

var articles = []article{
	{"notebook", "Notebook", "A5, dotted, 192 pages", 1250},
	{"pen", "Fountain pen", "Steel nib, in blue", 8000},
	{"lamp", "Desk lamp", "Warm light, on a clamp", 4900},
}

type line struct {
	article
	Quantity int64
}

type purchase struct {
	ID    string
	Lines []line
	Paid  webhook // the newest; its payment has no id before the first
	News  int     // counts the changes
}

// Sum returns the price of the line, in minor units of EUR.
func (l line) Sum() int64 { return l.Price * l.Quantity }

// Total returns the price of the order, in minor units of EUR.
func (p purchase) Total() (sum int64) {
	for _, l := range p.Lines {
		sum += l.Sum()
	}
	return sum
}

// Settled reports whether a webhook brought the payment's outcome.
func (p purchase) Settled() bool {
	return p.Paid.Payment.ID != "" && p.Paid.Payment.Status != "PENDING"
}

// Good reports whether the shop may deliver.
func (p purchase) Good() bool {
	switch p.Paid.Payment.Status {
	case "AUTHORIZED", "SETTLING", "PARTIALLY_SETTLED", "SETTLED":
		return true
	}
	return false
}

// Charged reports whether money was captured. An authorization only reserves it.
func (p purchase) Charged() bool { return p.Good() && p.Paid.Payment.Status != "AUTHORIZED" }

type orders struct {
	mu      sync.Mutex
	all     map[string]purchase
	changed chan struct{} // closed at the next change
}

func newOrders() *orders { return &orders{all: map[string]purchase{}, changed: make(chan struct{})} }

// add stores an order under an id that cannot be guessed: the id opens the receipt.
func (o *orders) add(lines []line) purchase {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := purchase{ID: "order-" + strings.ToLower(rand.Text()[:12]), Lines: lines}
	o.all[p.ID] = p
	return p
}

// find returns an order, and a channel that is closed when any order changes.
func (o *orders) find(id string) (p purchase, changed <-chan struct{}, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, known = o.all[id]
	return p, o.changed, known
}

// record stores a webhook about an order's payment. Webhooks come in any order and more than once
// (§6.1): of one payment the highest sequence is the newest. A customer may try several cards; a
// payment that succeeded stays.
func (o *orders) record(id string, h webhook) {
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
