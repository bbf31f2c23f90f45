package secrets

import (
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of a password guess (argon2id, second recommendation of RFC 9106). OWASP asks for 19 MiB
// and two passes at least.
const (
	argonTime    = 3
	argonThreads = 4
	argonSalt    = 16
	argonLength  = 32
)

// PasswordMemory is the memory of one password guess, in KiB. Only tests set it.
var PasswordMemory uint32 = 64 << 10

// NewPassword returns a verifier, "argon2id$<salt>$<hash>" in hexadecimal. It does not contain the
// password.
func NewPassword(random io.Reader, password string) ([]byte, error) {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(random, salt); err != nil {
		return nil, fmt.Errorf("secrets: random: %w", err)
	}
	return []byte("argon2id$" + hex.EncodeToString(salt) + "$" + hex.EncodeToString(argon(password, salt))), nil
}

// NoPassword is a verifier that no password matches. A comparison with it costs as much as one with
// another verifier.
var NoPassword = []byte("argon2id$" + strings.Repeat("00", argonSalt) + "$" + strings.Repeat("00", argonLength))

// CheckPassword reports whether a password matches a verifier. Callers in a service have a permit
// of package hashing.
func CheckPassword(verifier []byte, password string) bool {
	parts := strings.Split(string(verifier), "$")
	if len(parts) != 3 || parts[0] != "argon2id" {
		return false
	}
	salt, saltErr := hex.DecodeString(parts[1])
	hash, hashErr := hex.DecodeString(parts[2])
	return saltErr == nil && hashErr == nil && subtle.ConstantTimeCompare(hash, argon(password, salt)) == 1
}

func argon(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, argonTime, PasswordMemory, argonThreads, argonLength)
}
