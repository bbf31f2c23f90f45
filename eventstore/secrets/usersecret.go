package secrets

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
)

// The kinds of dashboard users' secrets: password verifiers, and secrets of one-time codes. A
// user's first secret of a kind is <kind>.<account>.<user>, later ones are
// <kind>.<account>.<user>.<number>. Each further one has a higher number.
const (
	kindPassword = "password"
	kindTOTP     = "totp"
)

// PasswordName returns the name of a user's verifier with a number; the first is 1.
func PasswordName(owner domain.AccountID, user domain.UserID, number uint64) domain.SecretID {
	return userSecret{kindPassword, owner, user, number}.name()
}

// TOTPName returns the name of a user's secret of one-time codes with a number; the first is 1.
func TOTPName(owner domain.AccountID, user domain.UserID, number uint64) domain.SecretID {
	return userSecret{kindTOTP, owner, user, number}.name()
}

// UserSecretNumber returns the number in a name that PasswordName or TOTPName returned.
func UserSecretNumber(name domain.SecretID) (uint64, error) {
	parsed, err := parseUserSecret(name)
	return parsed.number, err
}

type userSecret struct {
	kind   string
	owner  domain.AccountID
	user   domain.UserID
	number uint64
}

func (u userSecret) name() domain.SecretID {
	parts := []string{u.kind, string(u.owner), string(u.user)}
	if u.number > 1 {
		parts = append(parts, strconv.FormatUint(u.number, 10))
	}
	return domain.SecretID(strings.Join(parts, "."))
}

func parseUserSecret(name domain.SecretID) (userSecret, error) {
	parts := strings.Split(string(name), ".")
	malformed := fmt.Errorf("secrets: %q is no name of a user's secret", name)
	if parts[0] != kindPassword && parts[0] != kindTOTP || len(parts) < 3 || len(parts) > 4 {
		return userSecret{}, malformed
	}
	parsed := userSecret{parts[0], domain.AccountID(parts[1]), domain.UserID(parts[2]), 1}
	if len(parts) == 4 {
		var err error
		if parsed.number, err = strconv.ParseUint(parts[3], 10, 64); err != nil || parsed.number < 2 {
			return userSecret{}, malformed
		}
	}
	return parsed, nil
}

// DestroyUserSecrets destroys a user's secrets of one kind with the number of a name and lower
// ones. It never destroys newer ones, which belong to commands under way. It may be interrupted and
// repeated.
func (v *Store) DestroyUserSecrets(ctx context.Context, through domain.SecretID) error {
	last, err := parseUserSecret(through)
	if err != nil {
		return err
	}
	_, err = v.destroyUserSecrets(ctx, last.kind+"."+string(last.owner), func(s userSecret) bool {
		return s.user == last.user && s.number <= last.number
	})
	return err
}

// DestroyUserSecretsBefore destroys a user's secrets of one kind with lower numbers than that of a
// name.
func (v *Store) DestroyUserSecretsBefore(ctx context.Context, current domain.SecretID) error {
	first, err := parseUserSecret(current)
	if err != nil || first.number == 1 {
		return err
	}
	first.number--
	return v.DestroyUserSecrets(ctx, first.name())
}

// CleanUsers destroys the secrets of removed users, and those that a later one of the same user has
// replaced, in case a crash came before their command did it. A secret whose user is not known
// belongs to a user who is being added. A merchant's older state does no harm: a secret that is not
// needed in it is never needed again. CleanUsers may be interrupted and repeated. It returns the
// number of destroyed secrets.
func (v *Store) CleanUsers(ctx context.Context, merchant func(domain.AccountID) (account.State, bool)) (destroyed int, err error) {
	for _, kind := range []string{kindPassword, kindTOTP} {
		n, err := v.destroyUserSecrets(ctx, kind, func(s userSecret) bool {
			state, known := merchant(s.owner)
			return known && spentUserSecret(s, state)
		})
		if destroyed += n; err != nil {
			return destroyed, err
		}
	}
	return destroyed, nil
}

func spentUserSecret(s userSecret, state account.State) bool {
	user, there := state.User(s.user)
	if !there {
		return state.Removed(s.user)
	}
	newest := user.Password
	if s.kind == kindTOTP {
		newest = user.TOTPLast
	}
	last, err := parseUserSecret(newest)
	if err != nil || s.number > last.number { // not begun, or under way
		return false
	}
	name := s.name()
	return name != user.Password && name != user.TOTP && name != user.TOTPBegun
}

func (v *Store) destroyUserSecrets(ctx context.Context, prefix string, spent func(userSecret) bool) (destroyed int, err error) {
	return v.destroySpent(ctx, prefix, func(name domain.SecretID) (bool, error) {
		parsed, err := parseUserSecret(name)
		return err == nil && spent(parsed), err
	})
}

const sessionKey domain.SecretID = "session-root.system.dashboard"

// SessionRoot returns the root of the keys that sign tokens of dashboard users' sessions. The first
// call creates it. Each node has the same, and a rotation of the master key keeps it: so nodes with
// the old and with the new key accept each other's tokens.
func (v *Store) SessionRoot(ctx context.Context) ([]byte, error) {
	root, _, err := v.ensure(ctx, sessionKey, v.newKey)
	return root, err
}
