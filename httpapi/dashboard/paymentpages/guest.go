package paymentpages

import (
	"net/http"
	"strings"

	"payledger/httpapi/dashboard/frame"
)

// guest is the payment of somebody without a customer id, whose personal data is erased with it.
type guest struct {
	frame.Form
	Payment paymentData
	Address string
}

// Guest reports whether the payment has personal data that an erasure of the payment destroys; that
// of a customer is erased with the customer.
func (p paymentData) Guest() bool { return p.CustomerID == "" && !p.Impersonal() }

func openGuest(v *frame.Visit) (guest, error) {
	id := v.Request.PathValue("id")
	out := guest{Address: frame.Path("dashboard", "payments", id)}
	err := read(v, id, &out.Payment)
	return out, err
}

func askErasure(v *frame.Visit, g guest) error {
	if !g.Payment.Guest() {
		return v.Redirect(g.Address, "")
	}
	return v.Show(frame.Page{Name: "eraseguest", Title: "Erase a guest", Nav: pathPayments, Status: g.Status(), Data: g})
}

// eraseGuest wants the payment's id typed. A form that is sent again changes nothing.
func eraseGuest(v *frame.Visit, g guest, form frame.Form) error {
	if !g.Payment.Guest() {
		return v.Redirect(g.Address, "erased")
	}
	if !form.Review && strings.TrimSpace(form.Values.Get("confirm")) != g.Payment.ID {
		form.Fault("confirm", "Write the payment's id exactly as above.")
	}
	form.Key = "once" // a repeat changes nothing
	sent, err := form.Send(v, http.MethodPost, frame.Path("management", "payments", g.Payment.ID, "erase"), nil, "", nil)
	if err != nil {
		return err
	}
	if sent {
		return v.Redirect(g.Address, "erased")
	}
	g.Form = form
	return askErasure(v, g)
}
