package frame

import (
	"net/http"

	"payledger/domain/account"
)

// Admins returns a screen for administrators only. It refuses everybody else before anything of the
// request is read.
func Admins(s Screen) Screen {
	return only(s, func(r account.Role) bool { return r == account.RoleAdmin })
}

// Operators returns a screen for everybody but auditors. It refuses them before anything of the
// request is read.
func Operators(s Screen) Screen {
	return only(s, func(r account.Role) bool { return r != account.RoleAuditor })
}

// only is a screen for some roles. The API checks the role again for each of its calls (D20).
func only(s Screen, may func(account.Role) bool) Screen {
	return func(v *Visit) error {
		if !may(v.User.Role) {
			return &Failure{Status: http.StatusForbidden, ID: "MissingScope", Text: "The role " + string(v.User.Role) + " does not allow this."}
		}
		return s(v)
	}
}
