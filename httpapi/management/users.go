package management

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

// userAnswer is a dashboard user; only the answers that set a password have it.
type userAnswer struct {
	ID           domain.UserID     `json:"id"`
	Email        string            `json:"email"`
	Role         account.Role      `json:"role"`
	CreatedAt    paymentjson.Time  `json:"createdAt"`
	LastSignInAt *paymentjson.Time `json:"lastSignInAt,omitempty"`
	TOTPEnabled  bool              `json:"totpEnabled"`
	LockedUntil  *paymentjson.Time `json:"lockedUntil,omitempty"`
	Password     string            `json:"password,omitempty"`
}

// ListUsers serves GET /management/users.
func (h *Handlers) ListUsers(c *request.Call) (any, error) {
	users := request.Map(c.Merchant.Users, func(u account.User) userAnswer { return h.renderUser(c, u, "") })
	return request.Page(c, "users", users, func(u userAnswer) listing.Place {
		return listing.Place{At: u.CreatedAt.Time, ID: string(u.ID)}
	})
}

// CreateUser serves POST /management/users.
func (h *Handlers) CreateUser(c *request.Call, body accounts.UserInput) (any, error) {
	if err := checkRole(c, body.Role); err != nil {
		return nil, err
	}
	made, password, err := h.Commands.AddUser(c.Ctx, c.Caller(), body)
	return h.shown(c, h.renderUser(c, made, password), err)
}

// ChangeUser serves PATCH /management/users/{id}.
func (h *Handlers) ChangeUser(c *request.Call, body accounts.UserChange) (any, error) {
	before, known := c.Merchant.User(userID(c))
	if !known {
		return nil, account.NoUser()
	}
	if body.ResetPassword || body.DisableTOTP {
		if c.Actor == "user:"+string(before.ID) { // a stolen session needs the password or a code for that
			return nil, domain.Invalid(c.Model, domain.Violation{Path: "$", Description: "must not change your own password or codes: use Your account in the dashboard"})
		}
		if err := checkRole(c, before.Role); err != nil {
			return nil, err
		}
	}
	if body.Role != nil {
		if err := checkRole(c, *body.Role); err != nil {
			return nil, err
		}
	}
	changed, password, err := h.Commands.ChangeUser(c.Ctx, c.Caller(), before.ID, body)
	return h.shown(c, h.renderUser(c, changed, password), err)
}

// RemoveUser serves DELETE /management/users/{id}.
func (h *Handlers) RemoveUser(c *request.Call) (any, error) {
	removed, err := h.Commands.RemoveUser(c.Ctx, c.Caller(), userID(c))
	return h.shown(c, h.renderUser(c, removed, ""), err)
}

// checkRole refuses a role with scopes that the caller's key lacks, and a key that expires: the
// caller could sign in as the user (D2).
func checkRole(c *request.Call, role account.Role) error {
	if lacks := slices.DeleteFunc(role.Scopes(), c.Key.Allows); len(lacks) > 0 {
		return domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope,
			"The role %s has scopes that the API key lacks: %s. Use a key that has them.", role, strings.Join(lacks, ", "))
	}
	if c.Key.ExpiresAt != nil {
		refused := domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope, "The API key expires, and a user does not.")
		refused.Recovery = "Use an API key without expiresAt that has the scopes of the role."
		return refused
	}
	return nil
}

func userID(c *request.Call) domain.UserID { return domain.UserID(c.Vars["id"]) }

func (h *Handlers) renderUser(c *request.Call, u account.User, password string) userAnswer {
	a := userAnswer{
		ID: u.ID, Email: u.Name, Role: u.Role, CreatedAt: paymentjson.Time{Time: cmp.Or(u.CreatedAt, c.Merchant.CreatedAt)},
		LastSignInAt: timeOrNil(u.SignedInAt), TOTPEnabled: u.TOTP != "", Password: password,
	}
	if u.Locked(h.Now()) != nil {
		a.LockedUntil = timeOrNil(u.LockedUntil)
	}
	return a
}

func timeOrNil(t time.Time) *paymentjson.Time {
	if t.IsZero() {
		return nil
	}
	return &paymentjson.Time{Time: t}
}

func userRules(v *validation.Violations, c *request.Call) {
	email, sent := c.Body.Tree["email"].(string)
	if fault := account.EmailFault(email); sent && fault != "" && !v.Has("$.email") {
		v.Add("$.email", fault)
	}
}
