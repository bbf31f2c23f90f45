package dashboard

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/eventstore/commands/users"
	"payledger/httpapi/dashboard/frame"
)

const (
	pathLogin  = Path + "/login"
	pathLogout = Path + "/logout"
)

type signInForm struct {
	frame.Form
	Next     string // the page to go to
	Input    string // the input of a form that was sent without a session; "" if there is none
	Reason   string // why the page appears
	Step     string // of the code: the password was right
	Accounts []users.AccountChoice
}

func (d *Dashboard) showSignIn(w http.ResponseWriter, r *http.Request) error {
	if _, err := d.identify(w, r); err == nil {
		http.Redirect(w, r, safeNext(r.URL.Query().Get("next")), http.StatusSeeOther) //nolint:gosec // safeNext returns a page of the dashboard
		return nil
	}
	return d.signInPage(w, r, http.StatusOK, signInForm{Next: safeNext(r.URL.Query().Get("next"))})
}

func (d *Dashboard) signInPage(w http.ResponseWriter, r *http.Request, status int, f signInForm) error {
	return d.frame.ShowOutside(w, r, frame.Page{Name: "signin", Title: "Sign in", Status: status, Data: f})
}

// formMost is the greatest size of a form that is kept over a sign-in, in bytes, and signInMost
// that of the sign-in form with it.
const formMost, signInMost = 256 << 10, 512 << 10

// askToSignIn answers a request without a session. The input of a form is kept in the page, but for
// secrets.
func (d *Dashboard) askToSignIn(w http.ResponseWriter, r *http.Request, why users.Reason) error {
	f := signInForm{Next: safeNext(r.URL.RequestURI())}
	if why != users.NoSession {
		_, f.Reason, _ = refused(&users.Refusal{Reason: why}, d.Now())
	}
	if r.Method != http.MethodPost {
		if f.Reason == "" && f.Next != Path {
			f.Reason = "Sign in to see this page."
		}
		return d.signInPage(w, r, http.StatusUnauthorized, f)
	}
	r.Body = http.MaxBytesReader(w, r.Body, formMost)
	if err := r.ParseForm(); err == nil {
		f.Input = encodeInput(r.URL.Path, r.PostForm)
	}
	f.Reason = strings.TrimSpace(f.Reason + " Nothing was done.")
	if f.Input != "" {
		f.Reason += " After the sign-in your input is shown again."
	}
	return d.signInPage(w, r, http.StatusUnauthorized, f)
}

func (d *Dashboard) signIn(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, signInMost)
	if err := r.ParseForm(); err != nil {
		return d.signInPage(w, r, http.StatusBadRequest, signInForm{Next: Path, Reason: "The form could not be read whole. Send it again."})
	}
	sent := r.PostForm
	f := signInForm{
		Form: frame.Form{Values: url.Values{"email": {sent.Get("email")}, "account": {sent.Get("account")}}},
		Next: safeNext(sent.Get("next")), Input: sent.Get("input"),
	}
	made, err := d.Users.SignIn(r.Context(), users.SignInInput{
		Email: strings.TrimSpace(sent.Get("email")), Password: sent.Get("password"), Code: strings.ReplaceAll(sent.Get("code"), " ", ""),
		Step: sent.Get("step"), Account: domain.AccountID(strings.TrimSpace(sent.Get("account"))), Device: deviceOf(r), Origin: originOf(r),
	})
	if err != nil {
		return d.signInRefused(w, r, f, err)
	}
	setCookie(w, made.Token)
	setDevice(w, made.Device)
	if values, is := decodeInput(f.Input); is {
		return d.frame.ShowOutside(w, r, frame.Page{Name: "resume", Title: "Signed in", Data: struct {
			Next   string
			Values url.Values
		}{f.Next, values}})
	}
	http.Redirect(w, r, f.Next, http.StatusSeeOther)
	return nil
}

func (d *Dashboard) signInRefused(w http.ResponseWriter, r *http.Request, f signInForm, err error) error {
	status, text, is := refused(err, d.Now())
	if !is {
		return d.unavailable(w, r, err)
	}
	refusal, _ := errors.AsType[*users.Refusal](err)
	if status == http.StatusTooManyRequests {
		wait := max(2*time.Second, refusal.Until.Sub(d.Now()))
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	f.Step, f.Accounts = refusal.Step, refusal.Accounts
	if refusal.Reason == users.CodeNeeded {
		f.Reason = text
	} else {
		f.Refusal.Text = text
	}
	return d.signInPage(w, r, status, f)
}

func (d *Dashboard) signOut(w http.ResponseWriter, r *http.Request) error {
	if cookie, err := r.Cookie(cookieName); err == nil {
		if err := d.Users.SignOut(r.Context(), cookie.Value, originOf(r)); err != nil {
			return d.unavailable(w, r, fmt.Errorf("dashboard: signing out: %w", err))
		}
	}
	dropCookie(w)
	http.Redirect(w, r, pathLogin+"?done=signed-out", http.StatusSeeOther)
	return nil
}

// secretFields are the fields whose input is never written into a page.
var secretFields = []string{"password", "old", "new", "again", "code"}

// encodeInput returns the input of a form for a hidden field, without secrets; "" for a form
// without further input, and for those of a user's own account.
func encodeInput(path string, values url.Values) string {
	if strings.HasPrefix(path, pathMe) {
		return ""
	}
	kept := url.Values{}
	for name, all := range values {
		if !slices.Contains(secretFields, name) {
			kept[name] = all
		}
	}
	if len(kept) == 0 {
		return ""
	}
	text, _ := json.Marshal(kept) // texts only
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeInput(text string) (url.Values, bool) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	var values url.Values
	if json.Unmarshal(data, &values) != nil || len(values) == 0 {
		return nil, false
	}
	return values, true
}
