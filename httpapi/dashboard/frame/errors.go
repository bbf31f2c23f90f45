package frame

import (
	"errors"
	"net/http"

	"payledger/domain"
)

// notice is a page that says that something cannot be shown or done, and what to do.
type notice struct {
	Text, Advice, Number string
	Users                bool // the advice is to ask an administrator, whom the page of users names
}

// ShowError writes the page of an error. number identifies the request for support.
func (v *Visit) ShowError(err error) error {
	failure, is := errors.AsType[*Failure](err)
	if !is {
		return v.Show(broken(v.RequestID))
	}
	p := Page{Name: "notice", Status: failure.Status, Data: notice{Text: failure.Text, Advice: failure.Advice, Number: failure.Number}}
	switch failure.Status {
	case http.StatusNotFound:
		p.Title = "There is nothing here"
	case http.StatusForbidden:
		p.Title = "Your role does not allow this"
		p.Data = notice{Text: failure.Text, Users: true}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		p.Title = "Not now"
	default:
		p.Title = "This does not work"
	}
	if failure.Status >= http.StatusInternalServerError && failure.Status != http.StatusServiceUnavailable {
		p = broken(v.RequestID)
	}
	if failure.Status == http.StatusAccepted {
		p.Status = http.StatusOK
	}
	return v.Show(p)
}

func broken(number string) Page {
	return Page{
		Name: "notice", Title: "Something went wrong on our side", Status: http.StatusInternalServerError,
		Data: notice{
			Text:   "The page could not be made. If you sent a form, it is not known whether it took effect.",
			Advice: "Look at the payment or list first, then try again. Name this number if you report it:", Number: number,
		},
	}
}

// ShowNotice writes a notice for somebody who is not signed in.
func (f *Frame) ShowNotice(w http.ResponseWriter, r *http.Request, status int, title, text, advice string) error {
	return f.ShowOutside(w, r, Page{Name: "notice", Title: title, Status: status, Data: notice{Text: text, Advice: advice}})
}

// NotFound is the failure of a page that does not exist.
func NotFound() error {
	return &Failure{Status: http.StatusNotFound, ID: "NotFound", Text: "The dashboard has no page at this address.", Advice: "Use the navigation, or search for an id."}
}

// Missing is the failure of a page about something that the account does not have.
func Missing(text, advice string) error {
	return &Failure{Status: http.StatusNotFound, ID: string(domain.ReasonEntityNotFound), Text: text, Advice: advice}
}

// StatusOf returns the HTTP status of an error of the API; 0 for any other error.
func StatusOf(err error) int { return failureOf(err).Status }

// IDOf returns the errorId of an error of the API; "" for any other error.
func IDOf(err error) string { return failureOf(err).ID }

func failureOf(err error) Failure {
	if failure, is := errors.AsType[*Failure](err); is {
		return *failure
	}
	return Failure{}
}
