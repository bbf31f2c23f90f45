package accountpages

import (
	"net/http"
	"net/url"
	"time"

	"payledger/domain/account"
	"payledger/httpapi/dashboard/frame"
)

type member struct {
	ID          string
	Email       string
	Role        account.Role
	CreatedAt   *time.Time
	SignedInAt  *time.Time `json:"lastSignInAt"`
	TOTP        bool       `json:"totpEnabled"`
	LockedUntil *time.Time
	Password    string // only in the answer that made it
}

var roleTexts = map[account.Role]string{
	account.RoleAdmin:    "Everything, also keys, users and settings",
	account.RoleOperator: "Reads everything; captures, refunds and cancels payments; sends webhooks again",
	account.RoleAuditor:  "Reads everything, changes nothing",
}

type roleChoice struct {
	Role account.Role
	Text string
}

type usersView struct {
	frame.Form
	Users  []member
	Roles  []roleChoice
	Made   *member // just added
	Change bool
	Me     string
}

func users(v *frame.Visit) error {
	return showUsers(v, usersView{Form: newUser()})
}

func newUser() frame.Form {
	return frame.Form{Values: url.Values{"role": {string(account.RoleAuditor)}}}
}

func roleChoices() (all []roleChoice) {
	for _, r := range account.Roles {
		all = append(all, roleChoice{r, roleTexts[r]})
	}
	return all
}

func showUsers(v *frame.Visit, out usersView) error {
	all, err := frame.All[member](v, "/management/users")
	if err != nil {
		return err
	}
	out.Users, out.Change, out.Me, out.Roles = all, v.Admin(), string(v.User.ID), roleChoices()
	return v.Show(frame.Page{Name: "users", Title: "Users", Nav: pathUsers, Status: out.Status(), Data: out})
}

// addUser adds a user and shows the password once. A repeat of the form is refused: the name is
// taken.
func addUser(v *frame.Visit, form frame.Form) error {
	out := usersView{Form: form}
	body := map[string]any{"email": form.Text("email"), "role": form.Text("role")}
	var made member
	sent, err := out.Send(v, http.MethodPost, "/management/users", body, "", &made, "email", "role")
	if err != nil {
		return err
	}
	if sent {
		out = usersView{Made: &made, Form: newUser()}
	}
	return showUsers(v, out)
}

type userView struct {
	frame.Form
	User  member
	Roles []roleChoice
	Made  *member // with a new password
	Self  bool
	Asked string // the change that was refused
}

// Mark identifies the role that the page of the form showed first, or that this page shows.
func (u userView) Mark() string {
	if u.Asked == "role" {
		return u.Text("mark")
	}
	return frame.Mark(u.User.Role)
}

// Chosen returns the role that the form has.
func (u userView) Chosen() account.Role {
	if role := u.Text("role"); u.Asked == "role" && role != "" {
		return account.Role(role)
	}
	return u.User.Role
}

func memberOf(v *frame.Visit) (member, error) {
	return frame.One(v, "/management/users", func(m member) bool { return m.ID == v.Request.PathValue("id") },
		frame.Missing("The account has no such user. The user may be removed already.", "Look at the list of users."))
}

func user(v *frame.Visit) error { return showUser(v, userView{}, http.StatusOK) }

func showUser(v *frame.Visit, out userView, status int) error {
	var err error
	if out.User, err = memberOf(v); err != nil {
		return err
	}
	out.Roles, out.Self = roleChoices(), out.User.ID == string(v.User.ID)
	return v.Show(frame.Page{Name: "user", Title: "User " + out.User.Email, Nav: pathUsers, Status: status, Data: out})
}

func changeUser(v *frame.Visit, form frame.Form) error {
	out := userView{Form: form, Asked: form.Text("change")}
	if form.Review {
		return showUser(v, out, http.StatusOK)
	}
	path := frame.Path("management", "users", v.Request.PathValue("id"))
	var (
		done    = "saved"
		changed member
		err     error
	)
	switch form.Text("change") {
	case "role":
		now, missing := memberOf(v)
		switch {
		case missing != nil:
			return missing
		case string(now.Role) != form.Text("role") && out.Outdated(frame.Mark(now.Role), "The user's role has"):
			return showUser(v, out, http.StatusConflict)
		}
		err = v.Send(http.MethodPatch, path, map[string]any{"role": form.Text("role")}, "", &changed)
	case "password":
		err = v.Send(http.MethodPatch, path, map[string]any{"resetPassword": true}, "", &changed)
	case "factor":
		err = v.Send(http.MethodPatch, path, map[string]any{"disableTotp": true}, "", &changed)
	case "remove":
		err, done = v.Send(http.MethodDelete, path, nil, "", nil), "user-removed"
	default:
		return frame.NotFound()
	}
	switch {
	case err != nil:
		if err := out.Refused(err, "role"); err != nil {
			return err
		}
		if fault := out.Faults["role"]; fault != "" { // the section of the change shows it
			out.Refusal.Text, out.Refusal.Advice = fault, ""
		}
		return showUser(v, out, http.StatusUnprocessableEntity)
	case changed.Password != "":
		return showUser(v, userView{Made: &changed}, http.StatusOK)
	case done == "user-removed":
		return v.Redirect(pathUsers, done)
	}
	return v.Redirect(pathUsers+"/"+v.Request.PathValue("id"), done)
}
