package secrets

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"payledger/domain"
)

// kindPassword begins the names of password verifiers. A user's first verifier is password.<account>.<user>, later ones are
// password.<account>.<user>.<number>. Each password reset uses a higher number.
const kindPassword = "password"

// PasswordName returns the name of a user's verifier with a number; the first is 1.
func PasswordName(owner domain.AccountID, user domain.UserID, number uint64) domain.SecretID {
	parts := []string{kindPassword, string(owner), string(user)}
	if number > 1 {
		parts = append(parts, strconv.FormatUint(number, 10))
	}
	return domain.SecretID(strings.Join(parts, "."))
}

// PasswordNumber returns the number in a name that PasswordName returned.
func PasswordNumber(name domain.SecretID) (uint64, error) {
	parts := strings.Split(string(name), ".")
	if parts[0] != kindPassword || len(parts) < 3 || len(parts) > 4 {
		return 0, fmt.Errorf("secrets: %q is no password's name", name)
	}
	if len(parts) == 3 {
		return 1, nil
	}
	number, err := strconv.ParseUint(parts[3], 10, 64)
	if err != nil || number < 2 {
		return 0, fmt.Errorf("secrets: %q is no password's name", name)
	}
	return number, nil
}

// CleanPasswords destroys a user's verifiers with lower numbers than the valid one. It never destroys newer verifiers, which
// belong to resets under way. CleanPasswords may be interrupted and repeated.
func (v *Store) CleanPasswords(ctx context.Context, counts domain.SecretID) error {
	current, err := PasswordNumber(counts)
	if err != nil {
		return err
	}
	parts := strings.Split(string(counts), ".")
	names, err := v.bytes.Names(ctx, strings.Join(parts[:2], "."))
	if err != nil {
		return err
	}
	for _, text := range names {
		number, err := PasswordNumber(domain.SecretID(text))
		if err != nil {
			return err
		}
		if strings.Split(text, ".")[2] != parts[2] || number >= current {
			continue
		}
		if err := v.Destroy(ctx, domain.SecretID(text)); err != nil {
			return err
		}
	}
	return nil
}
