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

// kindSigning begins the names of webhook signing secrets: signing-secret.<account>.<number>. The
// numbers of an account's secrets only grow. So a node with an older state of the account never
// destroys a valid secret.
const kindSigning = "signing-secret"

// SigningSecretName returns the name of an account's signing secret with a number; the first is 1.
func SigningSecretName(owner domain.AccountID, number uint64) domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindSigning, string(owner), strconv.FormatUint(number, 10)}, "."))
}

// SigningSecretNumber returns the account and the number in a name that SigningSecretName returned.
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

// CleanSigning destroys signing secrets that sign no webhook any more (§5.2 rule 3, D18): the
// secrets older than the account's current one, except the previous secret during its overlap. It
// never destroys the current secret or newer ones, which belong to rotations under way, however
// old the state is that merchant returns. The overlap ends by now (recovery.Config, Over).
// CleanSigning may be interrupted and repeated. It returns the number of destroyed secrets.
func (v *Store) CleanSigning(ctx context.Context, now time.Time, merchant func(domain.AccountID) (account.State, bool)) (int, error) {
	return v.destroySpent(ctx, kindSigning, func(name domain.SecretID) (bool, error) { return spentSigning(name, now, merchant) })
}

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
