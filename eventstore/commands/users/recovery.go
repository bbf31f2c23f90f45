package users

import (
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"

	"payledger/domain/account"
)

const recoveryDigits = 10

// recoveryCodes returns the recovery codes of a TOTP secret, in two groups of five digits.
func recoveryCodes(secret []byte) ([]string, error) {
	codes := make([]string, account.RecoveryCodes)
	for i := range codes {
		drawn, err := hkdf.Expand(sha256.New, secret, fmt.Sprintf("payledger recovery code %d", i+1), 8)
		if err != nil {
			return nil, fmt.Errorf("users: the recovery codes: %w", err)
		}
		text := fmt.Sprintf("%0*d", recoveryDigits, binary.BigEndian.Uint64(drawn)%1e10)
		codes[i] = text[:recoveryDigits/2] + "-" + text[recoveryDigits/2:]
	}
	return codes, nil
}

// matchRecovery returns the number of a recovery code, from 1. Dashes of any kind do not count.
func matchRecovery(secret []byte, code string) (number uint64, right bool, err error) {
	given := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Pd, r) || r == '−' {
			return -1
		}
		return r
	}, code)
	codes, err := recoveryCodes(secret)
	for i, c := range codes {
		if subtle.ConstantTimeCompare([]byte(given), []byte(strings.ReplaceAll(c, "-", ""))) == 1 {
			number, right = uint64(i)+1, true
		}
	}
	return number, right, err
}
