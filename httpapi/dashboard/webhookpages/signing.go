package webhookpages

import (
	"fmt"
	"net/http"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi/dashboard/frame"
)

type secret struct {
	SigningSecret      string // only in the answer to a rotation
	Hint               string
	Number             uint64 // the pages of deliveries name it
	CreatedAt          time.Time
	PreviousValidUntil *time.Time
	Warnings           []string
}

type signingView struct {
	secret
	Left    string // how long the previous secret still signs; "": it does not
	Minutes int    // the same
	Whole   int    // of the overlap
	Change  bool
}

func viewOf(v *frame.Visit, s secret) signingView {
	out := signingView{secret: s, Change: v.Admin(), Whole: int(account.SigningOverlap / time.Minute)}
	if s.PreviousValidUntil != nil {
		left := max(0, s.PreviousValidUntil.Sub(v.Now()))
		out.Minutes = int((left + time.Minute - 1) / time.Minute) // a started minute counts
		out.Left = fmt.Sprintf("%d h %02d min", out.Minutes/60, out.Minutes%60)
	}
	return out
}

// present returns the secret that signs now.
func present(v *frame.Visit) (signingView, error) {
	var s secret
	err := v.Get(apiSigning, nil, &s)
	return viewOf(v, s), err
}

func signing(v *frame.Visit, now signingView) error {
	return v.Show(frame.Page{Name: "signing", Title: "Signing secret", Nav: pathSigning, Live: true, Data: now})
}

type rotateForm struct {
	frame.Form
	Now signingView
}

// Replaces identifies the secret that the form replaces.
func (f rotateForm) Replaces() string { return f.Now.CreatedAt.Format(time.RFC3339Nano) }

func (f rotateForm) page() frame.Page {
	return frame.Page{Name: "rotate", Title: "Rotate the signing secret", Nav: pathSigning, Status: f.Status(), Data: f}
}

func askRotate(v *frame.Visit, now signingView) error {
	return v.Show(rotateForm{Now: now}.page())
}

// rotate shows the new secret once. The form names the secret that it replaces, because a second
// rotation would end the overlap.
func rotate(v *frame.Visit, form frame.Form) error {
	now, err := present(v)
	if err != nil {
		return err
	}
	f := rotateForm{Form: form, Now: now}
	if f.Text("replaces") != f.Replaces() {
		return v.Show(f.changed().page())
	}
	if f.Review {
		return askRotate(v, now)
	}
	var made secret
	err = v.Send(http.MethodPost, apiSigning+"/rotate", nil, "", &made)
	switch {
	case frame.IDOf(err) == string(domain.ReasonConcurrentModification):
		if f.Now, err = present(v); err != nil {
			return err
		}
		return v.Show(f.changed().page())
	case err != nil:
		if err := f.Refused(err); err != nil {
			return err
		}
		return v.Show(f.page())
	}
	return v.Show(frame.Page{Name: "signing", Title: "Signing secret", Nav: pathSigning, Data: viewOf(v, made)})
}

// changed refuses a form that was shown for an earlier secret.
func (f rotateForm) changed() rotateForm {
	f.Refusal = frame.Refusal{
		Text:   "The secret was rotated after this form was opened: by you, in another tab or with a double click, or by a colleague.",
		Advice: "The new secret was shown in the answer to that rotation. Rotate again only if nobody has copied it.",
	}
	return f
}
