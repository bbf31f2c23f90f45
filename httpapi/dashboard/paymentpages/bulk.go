package paymentpages

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/nextstep"
)

const pathBulk = "/dashboard/bulk/refund"

// refundItem is a payment of a bulk refund: the amount that was left to refund, at the revision
// that the user saw. With another revision the refund is refused.
type refundItem struct {
	ID       string
	OrderID  string
	Amount   domain.Amount
	Currency domain.Currency
	Revision uint64
}

// Value returns the item as the form carries it.
func (r refundItem) Value() string { return fmt.Sprintf("%s:%d:%d", r.ID, r.Revision, r.Amount) }

func itemOf(value string) (r refundItem, ok bool) {
	parts := strings.Split(value, ":")
	if len(parts) != 3 {
		return r, false
	}
	revision, err := strconv.ParseUint(parts[1], 10, 64)
	amount, wrong := strconv.ParseInt(parts[2], 10, 64)
	return refundItem{ID: parts[0], Revision: revision, Amount: domain.Amount(amount)}, err == nil && wrong == nil && revision > 0 && amount > 0
}

// leftOut is a payment that fits the filters and is not refunded.
type leftOut struct{ ID, Reason string }

type bulkRefund struct {
	frame.Form
	Items  []refundItem
	Out    []leftOut
	More   bool // further payments fit the filters
	Oldest bool // the oldest that fit are refunded first
	Sums   []string
	Back   string // the address of the list
	Result *frame.Bulk
	Left   []string // values of the items that are to be sent again
}

func (b bulkRefund) page() frame.Page {
	return frame.Page{Name: "bulkrefund", Title: "Refund payments", Nav: pathPayments, Status: b.Status(), Data: b}
}

// askBulk counts the payments that fit the filters of the list, with the amounts that are left to
// refund. Nothing is refunded. The page says that more payments fit if the time ends before all are
// counted.
func askBulk(v *frame.Visit) error {
	out := bulkRefund{Form: frame.Form{Values: v.Request.URL.Query(), Key: v.NewKey()}}
	q := query(&out.Form)
	out.Oldest = out.Text("sort") == oldest
	out.Back = frame.Address(pathPayments, frame.Without(out.Values, "cursor", "done"))
	if !out.Sound() || len(frame.Without(q, "sort")) == 0 {
		return v.Redirect(out.Back, "") // it needs filters, and the list shows their faults
	}
	var found []summary
	if narrow(q) {
		q.Set("limit", strconv.Itoa(frame.BulkMost))
		var err error
		if found, out.More, err = frame.Some[summary](v, apiPayments, q, 1); err != nil {
			return err
		}
	}
	sums, until := map[domain.Currency]domain.Amount{}, v.Now().Add(frame.BulkTime)
	for i, p := range found {
		if i > 0 && v.Now().After(until) {
			out.More = true
			break
		}
		item, reason, err := refundable(v, p.ID)
		switch {
		case err != nil:
			return err
		case reason != "":
			out.Out = append(out.Out, leftOut{p.ID, reason})
		default:
			out.Items = append(out.Items, item)
			sums[item.Currency] += item.Amount
		}
	}
	for currency, sum := range sums {
		out.Sums = append(out.Sums, frame.Money(sum, currency))
	}
	slices.Sort(out.Sums)
	out.Values = url.Values{}
	return v.Show(out.page())
}

// narrow limits the parameters to payments that can be refunded. It reports whether any can fit.
func narrow(q url.Values) bool {
	can := []string{string(payment.StatusSettled), string(payment.StatusPartiallySettled)}
	if wanted := q["status"]; len(wanted) > 0 {
		can = slices.DeleteFunc(can, func(s string) bool { return !slices.Contains(wanted, s) })
	}
	q["status"] = can
	return len(can) > 0
}

// refundable returns the rest of a payment, or the reason why the payment is not refunded with the
// others.
func refundable(v *frame.Visit, id string) (item refundItem, reason string, err error) {
	var p paymentData
	if err := v.Get(frame.Path("management", "payments", id), nil, &p); err != nil {
		return item, "", missing(err)
	}
	item = refundItem{ID: id, OrderID: p.OrderID, Amount: p.refundable(), Currency: p.CurrencyCode, Revision: v.Revision}
	disputes, err := disputesOf(v, id)
	switch {
	case err != nil:
		return item, "", err
	case slices.ContainsFunc(disputes, disputeRow.BesideRefund) || nextstep.Returned(plainDisputes(disputes), item.Amount, item.Currency) > 0:
		return item, "it has a dispute: refund it by itself, after a look at the dispute", nil
	case item.Amount == 0:
		return item, "nothing is left to refund", nil
	}
	return item, "", nil
}

// undisputed lets a refund be refused if a dispute was opened after the count.
var undisputed = url.Values{"refuse_disputed": {"true"}}

// refundOne refunds an item. The payment is read before: so the new refund is known among the older
// ones, whose outcomes may come beside it, whatever the clocks say of their requests.
func refundOne(v *frame.Visit, item refundItem, reason, key string) error {
	of, path := form{kind: kinds["refund"], Name: "refund"}, frame.Path("management", "payments", item.ID)
	if err := v.Get(path, frame.Query("expand", "transactions.events"), &of.Payment); err != nil {
		return err
	}
	body := map[string]any{"amount": item.Amount, "expand": []string{"transactions.events"}}
	if reason != "" {
		body["reason"] = reason
	}
	var done operated
	err := v.OperateWith(undisputed, item.Revision, path+"/refund", body, key, &done)
	if err == nil && of.failed(done, of.refundOf(done)) {
		return &frame.Failure{Status: 422, Text: "The refund failed and moved no money."}
	}
	return err
}

// refundBulk refunds the payments that the form carries, each under its own idempotency key.
func refundBulk(v *frame.Visit, sent frame.Form) error {
	out := bulkRefund{Form: sent, Back: pathPayments}
	values := map[string]string{}
	items := map[string]refundItem{}
	var ids []string
	sound := true
	for _, value := range sent.Values["payment"] {
		item, ok := itemOf(value)
		sound = sound && ok
		ids, values[item.ID], items[item.ID] = append(ids, item.ID), value, item
	}
	switch {
	case sent.Review || len(ids) == 0:
		return v.Redirect(pathPayments, "")
	case !sound || !frame.SoundBulk(sent.Key, ids):
		out.Refusal.Text = "The form has a payment that cannot be read. Go back to the list, and begin again."
		return v.Show(out.page())
	}
	result := v.Bulk(sent.Key, ids, func(id, key string) error { return refundOne(v, items[id], sent.Text("reason"), key) })
	out.Result = &result
	for _, id := range result.Left {
		out.Left = append(out.Left, values[id])
	}
	return v.Show(out.page())
}
