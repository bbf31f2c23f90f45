package approvalpages

import (
	"net/http"
	"time"

	"payledger/domain"
	attempts "payledger/domain/attempt"
	"payledger/httpapi/dashboard/frame"
)

type attempt struct {
	ID             string
	ApprovalStatus attempts.Status
	CreatedAt      time.Time
	ExpiresAt      time.Time
	DecidedAt      *time.Time
	Reason         string
	PaymentID      string
	OrderID        string
	CustomerID     string
	Amount         *domain.Amount
	CurrencyCode   domain.Currency
	AmountChanged  bool
	PaymentMethod  struct {
		Network         string
		Last4Digits     string
		ExpirationMonth string
		ExpirationYear  string
		IsVaulted       bool
	}
}

// Price returns the price for people, and as a form has it; "" if the session has none.
func (a attempt) Price() string {
	if a.Amount == nil || a.CurrencyCode == "" {
		return ""
	}
	return frame.Money(*a.Amount, a.CurrencyCode)
}

// Waits reports whether a decision is possible.
func (a attempt) Waits() bool { return a.ApprovalStatus == attempts.RequiresApproval }

// soon is the time before its expiry at which an attempt is urgent.
const soon = time.Hour

// Urgent reports whether the attempt expires soon.
func (r row) Urgent() bool { return r.ExpiresAt.Sub(r.now) < soon }

type row struct {
	attempt
	now time.Time
}

type listView struct {
	Attempts []row
	Later    string
	First    bool // the page is the first one of the list
}

func list(v *frame.Visit) error {
	var found frame.List[attempt]
	form := frame.Form{Values: v.Request.URL.Query()}
	if err := v.Filtered(&form, apiWaiting, frame.Query(), &found); err != nil {
		return err
	}
	if !form.Sound() { // a cursor of another list
		return v.Redirect(pathApprovals, "")
	}
	out := listView{Later: frame.At(pathApprovals, form.Values, found.NextCursor), First: v.Value("cursor") == ""}
	for _, a := range found.Data {
		out.Attempts = append(out.Attempts, row{a, v.Now()})
	}
	return v.Show(frame.Page{Name: "approvals", Title: "Waiting approvals", Nav: pathApprovals, Live: out.First, Data: out})
}

type detail struct {
	attempt
	frame.Form
	Change bool // the user may decide
}

func open(v *frame.Visit) (attempt, error) {
	var found attempt
	err := v.Get(apiWaiting+"/"+v.Request.PathValue("id"), nil, &found)
	if frame.StatusOf(err) == http.StatusNotFound {
		err = frame.Missing("The account has no such payment attempt.", "The list has all attempts that wait.")
	}
	return found, err
}

func show(v *frame.Visit, a attempt) error { return page(v, a, frame.Form{}, http.StatusOK) }

func page(v *frame.Visit, a attempt, form frame.Form, status int) error {
	return v.Show(frame.Page{Name: "approval", Title: "Payment attempt", Nav: pathApprovals, Status: status, Data: detail{a, form, v.Admin() && a.Waits()}})
}

func approve(v *frame.Visit, a attempt, form frame.Form) error {
	if a.Waits() && form.Text("price") != a.Price() {
		form.Refusal = frame.Refusal{Text: "The price has changed since you opened this page: it is " + a.Price() + " now.", Advice: "Look at it again."}
	}
	var made struct{ PaymentID string }
	sent, err := decide(v, &form, a, "approve", struct{}{}, &made)
	if sent {
		return v.Redirect("/dashboard/payments/"+made.PaymentID, "approved")
	}
	return again(v, form, a, err)
}

func abort(v *frame.Visit, a attempt, form frame.Form) error {
	body := map[string]string{}
	if reason := form.Text("reason"); reason != "" {
		body["reason"] = reason
	}
	sent, err := decide(v, &form, a, "abort", body, nil, "reason")
	if sent {
		return v.Redirect(pathApprovals, "aborted")
	}
	return again(v, form, a, err)
}

// decide sends a decision. It is safe to send it again: the API carries it out once.
func decide(v *frame.Visit, form *frame.Form, a attempt, verb string, body, to any, fields ...string) (sent bool, err error) {
	form.Key = a.ID
	return form.Send(v, http.MethodPost, frame.Path("payment-attempts", a.ID, verb), body, "", to, fields...)
}

// again shows the attempt as it is now, after a decision that was refused.
func again(v *frame.Visit, form frame.Form, before attempt, err error) error {
	if err != nil {
		return err
	}
	now, err := open(v)
	if err != nil {
		now = before
	}
	status := http.StatusConflict
	if len(form.Faults) > 0 || form.Review {
		status = form.Status()
	}
	return page(v, now, form, status)
}
