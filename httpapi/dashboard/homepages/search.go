package homepages

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

// hit is what a search found (D20).
type hit struct {
	Kind, ID, Label, Matched, Status string
	Amount                           *domain.Amount
	CurrencyCode                     domain.Currency
	PaymentID, WorkflowID            string
	At                               *time.Time
}

var fieldNames = map[string]string{"id": "Id", "orderId": "Order", "customerId": "Customer", "emailAddress": "E-mail address"}

// Field names what has the searched text.
func (h hit) Field() string { return cmp.Or(fieldNames[h.Matched], h.Matched) }

type searchView struct {
	Query string
	Hits  []hit
}

// most is the greatest number of results of a search (D20).
const most = 20

// Full reports whether there may be more results than the page shows.
func (s searchView) Full() bool { return len(s.Hits) >= most }

type allOf struct{ Text, Address string }

// wholeLists are the filters of the list of payments that take a searched text, by the field that
// has it.
var wholeLists = map[string]allOf{
	"orderId": {"All payments of this order.", "order"}, "customerId": {"All payments of this customer.", "customer"},
	"emailAddress": {"All payments with this e-mail address.", "email"},
}

// All returns the lists without a limit that have the results.
func (s searchView) All() (all []allOf) {
	for _, h := range s.Hits {
		list, known := wholeLists[h.Matched]
		list.Address = frame.Address("/dashboard/payments", url.Values{list.Address: {s.Query}})
		if known && !slices.Contains(all, list) {
			all = append(all, list)
		}
	}
	return all
}

// pages are the addresses of what a search finds, by its kind. A kind without a page of its own is
// shown at its payment.
var pages = map[string]string{
	"payment": "/dashboard/payments/", "dispute": "/dashboard/disputes/", "workflow": "/dashboard/workflows/", "webhook_delivery": "/dashboard/deliveries/",
}

var lists = map[string]string{
	"webhook_endpoint": "/dashboard/endpoints", "api_key": "/dashboard/api-keys", "user": "/dashboard/users", "webhook_replay": "/dashboard/deliveries",
}

// Address returns the page of a hit; "" for none.
func (h hit) Address() string {
	switch {
	case pages[h.Kind] != "":
		return pages[h.Kind] + url.PathEscape(h.ID)
	case h.Kind == "customer":
		return "/dashboard/customers/one?id=" + url.QueryEscape(h.ID)
	case h.PaymentID != "":
		return pages["payment"] + url.PathEscape(h.PaymentID)
	case h.Kind == "payment_attempt":
		return "/dashboard/approvals/" + url.PathEscape(h.ID)
	case h.WorkflowID != "":
		return pages["workflow"] + url.PathEscape(h.WorkflowID)
	}
	return lists[h.Kind]
}

// search serves the search for any id, order, customer or e-mail address. One hit leads to its
// page.
func search(v *frame.Visit) error {
	out := searchView{Query: v.Value("q")}
	if out.Query != "" {
		var found struct{ Data []hit }
		if err := v.Get("/management/search", url.Values{"q": {out.Query}}, &found); err != nil {
			return err
		}
		out.Hits = found.Data
		if len(out.Hits) == 1 && out.Hits[0].Address() != "" {
			return v.Redirect(out.Hits[0].Address(), "")
		}
	}
	return v.Show(frame.Page{Name: "search", Title: "Search", Nav: "", Data: out})
}
