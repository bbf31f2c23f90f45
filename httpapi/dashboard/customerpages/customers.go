package customerpages

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"payledger/httpapi/dashboard/frame"
)

type customer struct {
	CustomerID string
	ErasedAt   *time.Time
	Erasing    bool
}

// Address returns the customer's page, and Erasure that of the form.
func (c customer) Address() string { return frame.Address(pathOne, url.Values{"id": {c.CustomerID}}) }
func (c customer) Erasure() string { return frame.Address(pathErase, url.Values{"id": {c.CustomerID}}) }

// All returns the address of the list of the customer's payments.
func (c customer) All() string {
	return frame.Address("/dashboard/payments", url.Values{"customer": {c.CustomerID}})
}

type card struct {
	IsVerified        bool
	Default           bool
	CreatedAt         time.Time
	Processor         string
	PaymentMethodData struct {
		Network         string
		Last4Digits     string
		ExpirationMonth string
		ExpirationYear  string
		CardholderName  string
	}
}

type listView struct {
	frame.Form
	Customers []customer
	Next      string
	First     bool
}

// list shows all customers in the order of their ids. A customer who is looked for has a page.
func list(v *frame.Visit) error {
	out := listView{Form: frame.Form{Values: v.Request.URL.Query()}, First: v.Value("cursor") == ""}
	if wanted := out.Text("customer"); wanted != "" {
		switch c, there, err := find(v, wanted); {
		case err != nil:
			return err
		case there:
			return v.Redirect(c.Address(), "")
		default:
			out.Fault("customer", "There is no customer with exactly this id.")
		}
	}
	var found frame.List[customer]
	status := out.Status()
	rest := frame.Form{Values: out.Values}
	if err := v.Filtered(&rest, apiCustomers, frame.Query(), &found); err != nil {
		return err
	}
	if !rest.Sound() { // a cursor of another list
		return v.Redirect(pathCustomers, "")
	}
	out.Customers, out.Next = found.Data, frame.At(pathCustomers, frame.Without(out.Values, "customer"), found.NextCursor)
	return v.Show(frame.Page{Name: "customers", Title: "Customers", Nav: pathCustomers, Status: status, Data: out})
}

func open(v *frame.Visit) (customer, error) {
	c, there, err := find(v, v.Request.URL.Query().Get("id"))
	if err == nil && !there {
		err = frame.Missing("The account has no such customer.", "The id has to be exactly that of the client session.")
	}
	return c, err
}

// find returns the customer with an id; false: there is none.
func find(v *frame.Visit, id string) (c customer, there bool, err error) {
	err = v.Get(apiCustomers+"/"+id, nil, &c)
	if s := frame.StatusOf(err); s == http.StatusNotFound || s == http.StatusUnprocessableEntity {
		return c, false, nil
	}
	return c, err == nil && id != "" && c.CustomerID == id, err
}

type detail struct {
	customer
	paid
	frame.Form
	Cards  []card
	More   bool // there are further cards
	Change bool // the user may erase the customer
	Seen   string
}

func read(v *frame.Visit, c customer) (detail, error) {
	cards, more, err := frame.Some[card](v, "/payment-instruments", url.Values{"customer_id": {c.CustomerID}, "limit": {"100"}}, 1)
	if frame.StatusOf(err) == http.StatusUnprocessableEntity { // an id of a build of before, which no list takes
		err = nil
	}
	out := detail{customer: c, Cards: cards, More: more, Change: v.Admin()}
	if c.ErasedAt != nil {
		out.Seen = frame.APITime(*c.ErasedAt)
	}
	return out, err
}

func show(v *frame.Visit, c customer) error {
	out, err := read(v, c)
	if err != nil {
		return err
	}
	if out.paid, err = readPaid(v, c.CustomerID); err != nil {
		return err
	}
	return v.Show(frame.Page{Name: "customer", Title: "Customer", Nav: pathCustomers, Data: out})
}

func ask(v *frame.Visit, c customer) error {
	out, err := read(v, c)
	if err != nil {
		return err
	}
	return v.Show(frame.Page{Name: "erase", Title: "Erase a customer", Nav: pathCustomers, Data: out})
}

// changed refuses a form if this node knows a newer erasure of the customer than the page with the
// form did.
func (c customer) changed() frame.Refusal {
	if c.ErasedAt == nil { // the form is of another page, or this node is behind it
		return frame.Refusal{Text: "The form names an erasure that is not known here.", Advice: "Open the customer's page again, and look at it."}
	}
	return frame.Refusal{
		Text:   "The customer was erased since you opened this page: " + frame.When(*c.ErasedAt) + ".",
		Advice: "Erase again only if the customer came back after that.",
	}
}

func erase(v *frame.Visit, c customer, form frame.Form) error {
	out, err := read(v, c)
	if err != nil {
		return err
	}
	switch {
	case form.Values.Get("seen") != out.Seen:
		form.Refusal = c.changed()
	case form.Review:
	case strings.TrimSpace(form.Values.Get("confirm")) != strings.TrimSpace(c.CustomerID):
		form.Fault("confirm", "Write the customer's id exactly as above.")
	}
	form.Key = "once" // a repeat changes nothing
	sent, err := form.Send(v, http.MethodPost, apiCustomers+"/"+c.CustomerID+"/erase", nil, "", nil)
	if err != nil {
		return err
	}
	if sent {
		return v.Redirect(c.Address(), "erased")
	}
	out.Form = form
	status := form.Status()
	if form.Text("seen") != out.Seen {
		status = http.StatusConflict
	}
	return v.Show(frame.Page{Name: "erase", Title: "Erase a customer", Nav: pathCustomers, Status: status, Data: out})
}
