package checkout

import (
	"net/http"

	"payledger/httpapi/checkout/locale"
)

// Notice is a page with a text only.
type Notice struct{ Title, Text string }

// The notices.
var (
	// Expired: the client token is unknown or has expired (D3).
	Expired = Notice{
		"This payment link has expired",
		"Go back to the shop and start the payment again. If you have paid already, the shop knows: nothing is lost.",
	}
	// Incomplete: the session has no price.
	Incomplete = Notice{
		"This payment is not ready",
		"The shop has not said how much is to be paid. Go back to the shop and try again.",
	}
	// Elsewhere: the page that shows the payment page in a frame is not one of the shop's.
	Elsewhere = Notice{
		"This page cannot be shown here",
		"Go back to the shop and open the payment from there.",
	}
	// Missing: there is no such page.
	Missing = Notice{
		"There is nothing here",
		"Go back to the shop and open the payment from there.",
	}
	// Broken: something failed on our side.
	Broken = Notice{
		"This page cannot be shown right now",
		"Wait a moment and load it again. Loading it again never pays twice.",
	}
	// Unknown: a form was sent, and no answer came.
	Unknown = Notice{
		"It is not known whether this was done",
		"No answer came. Before you send it again, look whether it has changed what it should change.",
	}
)

var (
	done = Notice{"This check is over", "Go back to the page of your payment: it shows how the payment went."}
	lost = Notice{
		"This payment link is not complete",
		"Go back to the shop and open the payment from there. If you have paid already, the shop knows: nothing is lost.",
	}
)

// Notice returns the page of a notice.
func (p *Pages) Notice(l *locale.Locale, status int, n Notice) (Document, error) {
	return p.render(l, status, "notice.html", l.Say(n.Title), n)
}

// Failure returns the page for an error status.
func (p *Pages) Failure(l *locale.Locale, status int) (Document, error) {
	if status < http.StatusInternalServerError && status != http.StatusTooManyRequests {
		return p.Notice(l, status, Missing)
	}
	return p.Notice(l, status, Broken)
}
