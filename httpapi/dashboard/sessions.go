package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/eventstore/commands/users"
	"payledger/httpapi/dashboard/frame"
)

const pathSessions = Path + "/sessions"

// openSession is a session of a user, from the sign-in to its end.
type openSession struct {
	ID        domain.UserSessionID
	User      string // the name
	At        time.Time
	ExpiresAt time.Time
	From      string // address of the browser that signed in; "" if the audit log has none
	Own       bool   // of the user who looks
	This      bool   // of this browser
	End       bool   // the user who looks may end it
}

type sessionsView struct {
	frame.Form
	Sessions []openSession // the newest first
	Others   int           // sessions that the user may end, but for this one
	All      bool          // Others are those of everybody, not only of the user
}

func (d *Dashboard) sessions(v *frame.Visit, current users.Current) error {
	return showSessions(v, current, frame.Form{}, http.StatusOK)
}

func showSessions(v *frame.Visit, current users.Current, form frame.Form, status int) error {
	out := sessionsView{Form: form, All: v.Admin()}
	from, err := signInsFrom(v)
	if err != nil {
		return err
	}
	for _, s := range current.Account.UserSessions {
		if !v.Now().Before(s.ExpiresAt) {
			continue
		}
		row := openSession{
			ID: s.ID, At: s.At, ExpiresAt: s.ExpiresAt, From: from[signIn{string(s.User), s.At.Unix()}],
			Own: s.User == current.User.ID, This: s.ID == current.Session.ID,
		}
		if user, known := current.Account.User(s.User); known {
			row.User = user.Name
		}
		if row.End = !row.This && (row.Own || out.All); row.End {
			out.Others++
		}
		out.Sessions = append(out.Sessions, row)
	}
	slices.SortStableFunc(out.Sessions, func(a, b openSession) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return v.Show(frame.Page{Name: "sessions", Title: "Sessions", Nav: pathSessions, Status: status, Data: out})
}

type signIn struct {
	user string
	at   int64 // seconds since 1970
}

// signInsFrom returns the addresses of the newest sign-ins, which the audit log has.
func signInsFrom(v *frame.Visit) (map[signIn]string, error) {
	var found frame.List[struct {
		At   time.Time
		From string
		What struct{ ID string }
	}]
	if err := v.Get("/management/audit-log", url.Values{"type": {"account.user_signed_in"}, "limit": {"100"}}, &found); err != nil {
		return nil, err
	}
	all := map[signIn]string{}
	for _, e := range found.Data {
		all[signIn{e.What.ID, e.At.Unix()}] = e.From
	}
	return all, nil
}

// endSessions serves POST /dashboard/sessions: it ends one session, or all others that the user may
// end.
func (d *Dashboard) endSessions(v *frame.Visit, current users.Current) error {
	form, err := v.Input()
	if err != nil {
		return err
	}
	if form.Review {
		return showSessions(v, current, frame.Form{}, http.StatusOK)
	}
	ids, done := []domain.UserSessionID{domain.UserSessionID(form.Text("session"))}, "session-ended"
	if form.Text("do") == "all" {
		ids, done = nil, "all-ended"
		for _, s := range current.Account.UserSessions {
			if s.ID != current.Session.ID && (v.Admin() || s.User == current.User.ID) {
				ids = append(ids, s.ID)
			}
		}
	}
	ended, err := d.Users.EndSessions(v.Ctx, current, ids, originOf(v.Request))
	switch {
	case domain.ReasonOf(err) == domain.ReasonMissingScope:
		return &frame.Failure{Status: http.StatusForbidden, ID: "MissingScope", Text: "The role " + string(v.User.Role) + " does not allow this."}
	case err != nil:
		if _, err = d.refusedForm(&form, err); err != nil {
			return err
		}
		return showSessions(v, current, form, http.StatusConflict)
	case ended == 0:
		done = "none-ended"
	}
	return v.Redirect(pathSessions, done)
}
