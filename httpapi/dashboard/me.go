package dashboard

import (
	"context"
	"errors"
	"net/http"

	"payledger/domain"
	"payledger/eventstore/commands/users"
	"payledger/httpapi/dashboard/frame"
)

const pathMe = Path + "/me"

type meView struct {
	Password frame.Form
	Factor   frame.Form
	On       bool             // the second factor is on
	Begun    *users.NewFactor // the secret that is shown once
	QR       string           // the path of an SVG with Begun's URI
	QRSize   int
	Recovery []string // the recovery codes that are shown once
	Session  users.Current
}

func (d *Dashboard) personalRoutes() {
	d.personal("GET "+pathMe, d.me)
	d.personal("POST "+pathMe+"/password", d.changePassword)
	d.personal("POST "+pathMe+"/factor", d.beginFactor)
	d.personal("POST "+pathMe+"/factor/confirm", d.confirmFactor)
	d.personal("POST "+pathMe+"/factor/disable", d.disableFactor)
	d.personal("GET "+pathSessions, d.sessions)
	d.personal("POST "+pathSessions, d.endSessions)
}

func (d *Dashboard) me(v *frame.Visit, current users.Current) error {
	return showMe(v, current, http.StatusOK, meView{})
}

func showMe(v *frame.Visit, current users.Current, status int, out meView) error {
	out.Session, out.On = current, current.User.TOTP != ""
	return v.Show(frame.Page{Name: "me", Title: "Your account", Nav: pathMe, Status: status, Data: out})
}

// refusedForm takes the reason of a refusal into a form. It returns the status of the page; an
// error that is no refusal stays.
func (d *Dashboard) refusedForm(f *frame.Form, err error) (int, error) {
	if status, text, is := refused(err, d.Now()); is {
		if f.Refusal.Text = text; users.ReasonOf(err) == users.WrongCredentials {
			f.Refusal.Text = "Your present password is wrong." // the name is that of the session
		}
		if status == http.StatusUnauthorized { // the session is valid: the password or the code was wrong
			status = http.StatusUnprocessableEntity
		}
		return status, nil
	}
	if invalid, is := errors.AsType[*domain.Error](err); is && invalid.Reason == domain.ReasonRequestValidation {
		for _, fault := range invalid.Violations {
			f.Fault("new", "The new password "+fault.Description+".")
		}
		return http.StatusUnprocessableEntity, nil
	}
	return 0, err
}

func (d *Dashboard) changePassword(v *frame.Visit, current users.Current) error {
	form, err := v.Input()
	if err != nil {
		return err
	}
	var out meView
	if form.Review {
		return showMe(v, current, http.StatusOK, out)
	}
	if form.Values.Get("new") != form.Values.Get("again") {
		form.Fault("again", "The two new passwords differ.")
	} else {
		made, err := d.Users.ChangePassword(v.Ctx, current, users.PasswordChange{
			Old: form.Values.Get("old"), New: form.Values.Get("new"), Origin: originOf(v.Request),
		})
		if err == nil {
			setCookie(v.Writer, made.Token)
			return v.Redirect(pathMe, "password")
		}
		if _, err = d.refusedForm(&form, err); err != nil {
			return err
		}
	}
	out.Password = form
	return showMe(v, current, http.StatusUnprocessableEntity, out)
}

// beginFactor serves POST /dashboard/me/factor: it shows a new secret for one-time codes, once.
func (d *Dashboard) beginFactor(v *frame.Visit, current users.Current) error {
	form, err := v.Input()
	if err != nil {
		return err
	}
	var out meView
	status := http.StatusOK
	if !form.Review {
		var begun users.NewFactor
		begun, err = d.Users.BeginTOTP(v.Ctx, current, form.Values.Get("password"), originOf(v.Request))
		if err == nil {
			out.Begun = &begun
			out.QR, out.QRSize, err = qrPath(begun.URI)
		} else {
			status, err = d.refusedForm(&form, err)
		}
		if err != nil {
			return err
		}
	}
	out.Factor = form
	return showMe(v, current, status, out)
}

func (d *Dashboard) confirmFactor(v *frame.Visit, current users.Current) error {
	return d.withCode(v, current, d.Users.ConfirmTOTP, true)
}

func (d *Dashboard) disableFactor(v *frame.Visit, current users.Current) error {
	return d.withCode(v, current, d.Users.DisableTOTP, false)
}

type codeChange func(ctx context.Context, who users.Current, code string, from users.Origin) (users.SignedIn, error)

func (d *Dashboard) withCode(v *frame.Visit, current users.Current, change codeChange, confirms bool) error {
	form, err := v.Input()
	if err != nil {
		return err
	}
	status := http.StatusOK
	if !form.Review {
		made, err := change(v.Ctx, current, form.Text("code"), originOf(v.Request))
		if err == nil {
			setCookie(v.Writer, made.Token)
			if confirms { // the codes cannot be shown behind a redirect
				current.User = made.User
				return showMe(v, current, http.StatusOK, meView{Recovery: made.Recovery})
			}
			return v.Redirect(pathMe, "totp-off")
		}
		if status, err = d.refusedForm(&form, err); err != nil {
			return err
		}
		if confirms {
			form.Refusal.Text += " The secret from before is still valid: enter the next code below."
		}
	}
	out := meView{Factor: form}
	if confirms && current.User.TOTPBegun != "" {
		out.Begun = &users.NewFactor{} // the secret was shown; the page needs its code only
	}
	return showMe(v, current, status, out)
}
