package users

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"payledger/domain"
)

// MinPassword and MaxPassword are the lengths of passwords that a user may choose, in characters.
const (
	MinPassword = 12
	MaxPassword = longestPassword / utf8.UTFMax
)

const (
	minDistinct = 5 // different characters
	minRest     = 4 // letters beside common words
)

// passwordFaults returns all reasons to refuse a new password (§6.1). There are no rules about
// kinds of characters: length helps, and they do not (NIST SP 800-63B).
func passwordFaults(password, old string, names ...string) (found []domain.Violation) {
	add := func(format string, args ...any) {
		found = append(found, domain.Violation{Path: "$.newPassword", Description: fmt.Sprintf(format, args...)})
	}
	if n := utf8.RuneCountInString(password); n < MinPassword || n > MaxPassword {
		add("must have %d to %d characters", MinPassword, MaxPassword)
		return found
	}
	if password == old {
		add("must differ from the old password")
	}
	if trivial(password, names) {
		add("is easy to guess: take several words that do not belong together, or let a password manager make one")
	}
	return found
}

// trivial reports whether a password is one of those that are tried first: a common word with a few
// characters around it, the user's own name, one piece again and again, or a row of characters.
func trivial(password string, names []string) bool {
	plain := plainText(password)
	distinct := map[rune]bool{}
	for _, r := range plain {
		distinct[r] = true
	}
	if len(distinct) < minDistinct || repeated(plain) || row(strings.ToLower(password)) || row(plain) {
		return true
	}
	words := common
	for _, name := range names {
		local, _, _ := strings.Cut(name, "@")
		if word := plainText(local); utf8.RuneCountInString(word) >= 3 {
			words = append(words[:len(words):len(words)], word)
		}
	}
	return lettersBeside(strings.ToLower(password), plain, words) < minRest
}

// lettersBeside returns the number of a text's letters outside of words; a text without any of the
// words has no limit. plain is the text with letters in the place of the signs that stand for them.
func lettersBeside(text, plain string, words []string) int {
	rest := plain
	for _, word := range words {
		rest = strings.ReplaceAll(rest, word, strings.Repeat("\x00", utf8.RuneCountInString(word)))
	}
	if rest == plain {
		return math.MaxInt
	}
	letters, left := 0, []rune(rest)
	for i, r := range []rune(text) {
		if left[i] != 0 && unicode.IsLetter(r) {
			letters++
		}
	}
	return letters
}

var substitutes = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// plainText has as many characters as the text.
func plainText(text string) string { return substitutes.Replace(strings.ToLower(text)) }

// repeated reports whether a text is a shorter one again and again; the last one may be cut.
func repeated(text string) bool {
	for size := 1; size <= len(text)/2; size++ {
		if strings.HasPrefix(strings.Repeat(text[:size], len(text)/size+1), text) {
			return true
		}
	}
	return false
}

// rows are the rows of keyboards and of the alphabet; each counts in both directions, and goes
// round.
var rows = []string{
	"abcdefghijklmnopqrstuvwxyz", "0123456789", "1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn",
	"1q2w3e4r5t6y7u8i9o0p", "qazwsxedcrfvtgbyhnujmikolp", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
}

// row reports whether a text is made of few pieces of rows.
func row(text string) bool {
	pieces, left := 0, []rune(text)
	for len(left) > 0 {
		left = left[rowPiece(left):]
		pieces++
	}
	return pieces*3 < utf8.RuneCountInString(text)
}

// rowPiece returns the length of the longest beginning of a text that is a piece of a row; at
// least 1.
func rowPiece(text []rune) int {
	longest := 1
	for _, r := range rows {
		for _, there := range []string{r + r, reversed(r + r)} {
			n := longest
			for n < len(text) && strings.Contains(there, string(text[:n+1])) {
				n++
			}
			longest = n
		}
	}
	return longest
}

func reversed(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

// common are the words of the passwords that are used most, and this product's own.
var common = []string{
	"administrator", "admin", "password", "passwort", "passphrase", "passwd", "motdepasse", "contrasena", "payledger", "ledger", "payment", "payments", "dashboard",
	"welcome", "willkommen", "letmein", "changeme", "secret", "master", "login", "default", "guest", "root", "user", "test", "demo", "qwerty", "qwertz", "azerty",
	"iloveyou", "sunshine", "princess", "football", "baseball", "basketball", "superman", "batman", "dragon", "monkey", "shadow", "michael", "jennifer",
	"trustno", "starwars", "whatever", "freedom", "computer", "internet", "summer", "winter", "spring", "autumn", "monday", "friday", "company", "merchant",
	"hello", "correcthorsebatterystaple", "abc",
}
