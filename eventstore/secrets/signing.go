package secrets

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

// kindSigning begins the names of webhook signing secrets: signing-secret.<account>.<number>. The numbers of an
// account's secrets only grow, so that a node with an older state of the account still knows which secrets are spent.
const kindSigning = "signing-secret"

// SigningSecretName names an account's signing secret of a number; the first is 1.
func SigningSecretName(owner domain.AccountID, number uint64) domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindSigning, string(owner), strconv.FormatUint(number, 10)}, "."))
}

// SigningSecretNumber reads the account and the number in a name that SigningSecretName made.
func SigningSecretNumber(name domain.SecretID) (domain.AccountID, uint64, error) {
	parts := strings.Split(string(name), ".")
	if len(parts) != 3 || parts[0] != kindSigning {
		return "", 0, fmt.Errorf("secrets: %q is no signing secret's name", name)
	}
	number, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("secrets: %q is no signing secret's name: %w", name, err)
	}
	return domain.AccountID(parts[1]), number, nil
}

// CleanSigning destroys signing secrets that sign no webhook any more (§5.2 rule 3, D18): those older than the
// account's current one, but for the one before it while that is valid. The current secret and newer ones, of
// rotations under way, are never touched, however old the state that merchant gives. It may be repeated and cut
// short anywhere. It returns how many secrets it destroyed.
func (v *Store) CleanSigning(ctx context.Context, now time.Time, merchant func(domain.AccountID) (account.State, bool)) (int, error) {
	names, err := v.bytes.Names(ctx, kindSigning)
	if err != nil {
		return 0, err
	}
	destroyed := 0
	for _, text := range names {
		name := domain.SecretID(text)
		spent, err := spentSigning(name, now, merchant)
		if err != nil {
			return destroyed, err
		}
		if !spent {
			continue
		}
		if err := v.Destroy(ctx, name); err != nil {
			return destroyed, err
		}
		destroyed++
	}
	return destroyed, nil
}

// spentSigning reports whether a signing secret signs no webhook any more, and never will again.
func spentSigning(name domain.SecretID, now time.Time, merchant func(domain.AccountID) (account.State, bool)) (bool, error) {
	owner, number, err := SigningSecretNumber(name)
	if err != nil {
		return false, err
	}
	state, known := merchant(owner)
	if !known {
		return false, nil // its creation is under way
	}
	_, current, err := SigningSecretNumber(state.Signing.Secret)
	if err != nil {
		return false, err
	}
	previous, overlaps := state.Signing.Overlap(now)
	return number < current && (!overlaps || previous.Secret != name), nil
}
